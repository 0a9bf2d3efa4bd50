/** Queries public DNS. */
export interface Dns {
  /** The TXT records of a name, each joined; empty when the name or record does not exist. Rejects only with `DnsUnanswered`. */
  txt(name: string, abort: AbortSignal): Promise<readonly string[]>
  /** The A and AAAA addresses of a name, aliases followed; empty when it has none. Rejects only with `DnsUnanswered`. */
  addresses(name: string, abort: AbortSignal): Promise<readonly string[]>
}

/** No server answered: the records are unknown, which differs from none. */
export class DnsUnanswered extends Error {
  override readonly name = 'DnsUnanswered'
}
