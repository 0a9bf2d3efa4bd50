import type { TlsState } from '@berth/contract'

/** How a domain stands to its certificate, in words. */
export const tlsWords: Record<TlsState, string> = {
  none: 'none: plain http',
  pending: 'on its way',
  active: 'in force',
  error: 'could not be had; tried again by itself',
}
