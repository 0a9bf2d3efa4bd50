import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Dns, DnsUnanswered } from './dns.ts'

/** What an implementation lends to the suite. */
export interface SuiteDns {
  dns: Dns
  /** Several texts at a name, from now on. */
  write(name: string, texts: string[]): void
  /** From now on nobody answers. */
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

    test('where nobody answers nothing is said of the records', async () => {
      scene.goAway()
      await expect(scene.dns.txt('_berth.shop.test', never)).rejects.toBeInstanceOf(DnsUnanswered)
    })

    test('a question that is given up was not answered', async () => {
      await expect(scene.dns.txt('_berth.shop.test', AbortSignal.abort())).rejects.toBeInstanceOf(DnsUnanswered)
    })
  })
}
