import type { TlsState } from '@berth/contract'

/** How a domain stands to its certificate, in words. */
export const tlsText: Record<TlsState, string> = {
  none: 'none: plain http',
  pending: 'being issued',
  active: 'in force',
  error: 'Not issued yet. Retrying automatically.',
}
