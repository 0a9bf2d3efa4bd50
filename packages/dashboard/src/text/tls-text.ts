import type { TlsState } from '@berth/contract'

/** Describes the certificate of a domain. */
export const tlsText: Record<TlsState, string> = {
  none: 'none (plain HTTP)',
  pending: 'being issued',
  active: 'active',
  error: 'Not issued yet. Retrying automatically.',
}
