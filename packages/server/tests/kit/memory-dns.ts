import { type Dns, DnsUnanswered } from '../../src/drivers/dns/dns.ts'

/** The world's name servers, in memory: what a test writes is there at once. */
export class MemoryDns implements Dns {
  readonly records = new Map<string, string[]>()
  /** Addresses by name. */
  readonly leads = new Map<string, string[]>()
  /** Names that were asked for, in order. */
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
