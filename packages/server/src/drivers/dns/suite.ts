import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Dns, DnsUnanswered } from './dns.ts'

/** Test environment that an implementation provides. */
export interface SuiteDns {
  dns: Dns
  /** Sets the TXT records of a name. */
  write(name: string, texts: string[]): void
  /** Sets the addresses of a name, IPv4 and IPv6. */
  point(name: string, addresses: string[]): void
  /** Makes the name server stop answering. */
  goAway(): void
  close(): Promise<void>
}

const neverAborted = new AbortController().signal

/** The contract of `dns.ts`. */
export function describeDns(title: string, start: () => Promise<SuiteDns>): void {
  describe(title, () => {
    let scene: SuiteDns
    beforeEach(async () => {
      scene = await start()
    })
    afterEach(() => scene.close())

    test('TXT records are complete, at any length', async () => {
      const texts = ['one', `berth-verify=${'x'.repeat(400)}`]
      scene.write('_berth.shop.test', texts)
      expect(await scene.dns.txt('_berth.shop.test', neverAborted)).toEqual(texts)
    })

    test('a name that does not exist returns an empty list', async () => {
      expect(await scene.dns.txt('_berth.nothing.test', neverAborted)).toEqual([])
    })

    test('returns addresses of both families, and an empty list for a name without one', async () => {
      scene.point('www.shop.test', ['203.0.113.7', '2001:db8::7'])
      scene.point('old.shop.test', ['203.0.113.8'])
      scene.write('_berth.shop.test', ['one'])
      expect(await scene.dns.addresses('www.shop.test', neverAborted)).toEqual(['203.0.113.7', '2001:db8::7'])
      expect(await scene.dns.addresses('old.shop.test', neverAborted)).toEqual(['203.0.113.8'])
      expect(await scene.dns.addresses('_berth.shop.test', neverAborted)).toEqual([])
      expect(await scene.dns.addresses('nothing.shop.test', neverAborted)).toEqual([])
    })

    test('without an answer the query fails with DnsUnanswered', async () => {
      scene.goAway()
      await expect(scene.dns.addresses('www.shop.test', neverAborted)).rejects.toBeInstanceOf(DnsUnanswered)
      await expect(scene.dns.txt('_berth.shop.test', neverAborted)).rejects.toBeInstanceOf(DnsUnanswered)
    })

    test('an aborted query fails with DnsUnanswered', async () => {
      await expect(scene.dns.txt('_berth.shop.test', AbortSignal.abort())).rejects.toBeInstanceOf(DnsUnanswered)
    })
  })
}
