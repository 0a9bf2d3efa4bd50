import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Dns, DnsUnanswered } from './dns.ts'

/** Test environment that an implementation provides. */
export interface SuiteDns {
  dns: Dns
  /** Sets the TXT records of a name. */
  write(name: string, texts: string[]): void
  /** Makes the name server stop answering. */
  goAway(): void
  close(): Promise<void>
}

const never = new AbortController().signal

/** The contract of `dns.ts`. */
export function describeDns(title: string, start: () => Promise<SuiteDns>): void {
  describe(title, () => {
    let scene: SuiteDns
    beforeEach(async () => {
      scene = await start()
    })
    afterEach(() => scene.close())

    test('the texts at a name are told whole, however long', async () => {
      const texts = ['one', `berth-verify=${'x'.repeat(400)}`]
      scene.write('_berth.shop.test', texts)
      expect(await scene.dns.txt('_berth.shop.test', never)).toEqual(texts)
    })

    test('a name that does not exist has none; that is an answer', async () => {
      expect(await scene.dns.txt('_berth.nothing.test', never)).toEqual([])
    })

    test('without an answer the records are unknown', async () => {
      scene.goAway()
      await expect(scene.dns.txt('_berth.shop.test', never)).rejects.toBeInstanceOf(DnsUnanswered)
    })

    test('a question that is given up was not answered', async () => {
      await expect(scene.dns.txt('_berth.shop.test', AbortSignal.abort())).rejects.toBeInstanceOf(DnsUnanswered)
    })
  })
}
