/** Publishes TXT records in a public DNS zone, for ACME dns-01. */
export interface DnsChallenge {
  /**
   * Adds a value to the TXT records of a name; existing values stay, and adding a value twice is no error. Resolves when the
   * provider has accepted it; its name servers may need longer. Rejects with `DnsProviderFailed`.
   */
  present(name: string, value: string, abort: AbortSignal): Promise<void>
  /** Removes that value only; one that does not exist is no error. */
  remove(name: string, value: string, abort: AbortSignal): Promise<void>
}

/** The provider rejected a call or is unreachable; the message contains its reason. */
export class DnsProviderFailed extends Error {
  override readonly name = 'DnsProviderFailed'
}

/** Seconds that other name servers may cache a challenge record. */
export const recordTtl = 60
