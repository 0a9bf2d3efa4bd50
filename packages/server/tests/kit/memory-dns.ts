import { type Dns, DnsUnanswered } from '../../src/drivers/dns/dns.ts'

/** Public name servers in memory: records that a test sets are visible at once. */
export class MemoryDns implements Dns {
  readonly records = new Map<string, string[]>()
  /** Addresses by name. */
  readonly leads = new Map<string, string[]>()
  /** Queried names, in order. */
  readonly asked: string[] = []
  isAway = false

  async txt(name: string, abort: AbortSignal): Promise<readonly string[]> {
    this.asked.push(name)
    if (this.isAway || abort.aborted) throw new DnsUnanswered(`The name servers did not answer for ${name}`)
    return this.records.get(name) ?? []
  }

  async addresses(name: string, abort: AbortSignal): Promise<readonly string[]> {
    if (this.isAway || abort.aborted) throw new DnsUnanswered(`The name servers did not answer for ${name}`)
    return this.leads.get(name) ?? []
  }
}
