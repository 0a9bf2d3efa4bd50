import { type Dns, DnsUnanswered } from '../../src/drivers/dns/dns.ts'

/** Public name servers in memory: records that a test sets are visible immediately. */
export class MemoryDns implements Dns {
  readonly records = new Map<string, string[]>()
  /** Addresses by name. */
  readonly addressRecords = new Map<string, string[]>()
  /** Queried names, in order. */
  readonly queriedNames: string[] = []
  isUnreachable = false

  async txt(name: string, abort: AbortSignal): Promise<readonly string[]> {
    this.queriedNames.push(name)
    if (this.isUnreachable || abort.aborted) throw new DnsUnanswered(`The name servers did not answer for ${name}`)
    return this.records.get(name) ?? []
  }

  async addresses(name: string, abort: AbortSignal): Promise<readonly string[]> {
    if (this.isUnreachable || abort.aborted) throw new DnsUnanswered(`The name servers did not answer for ${name}`)
    return this.addressRecords.get(name) ?? []
  }
}
