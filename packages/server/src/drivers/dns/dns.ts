/** Asks the name servers of the world. */
export interface Dns {
  /** The texts at a name, each whole; none where the name or such a record does not exist. Fails with `DnsUnanswered` only. */
  txt(name: string, abort: AbortSignal): Promise<readonly string[]>
}

/** Nobody could say: what is at the name is not known, which is not the same as nothing. */
export class DnsUnanswered extends Error {
  override readonly name = 'DnsUnanswered'
}
