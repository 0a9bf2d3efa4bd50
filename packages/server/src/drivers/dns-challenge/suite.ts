import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type DnsChallenge, DnsProviderFailed } from './dns-challenge.ts'

/** Test environment that an implementation provides: a provider with the zone `example.test`. */
export interface SuiteProvider {
  provider: DnsChallenge
  /** Values of the TXT records of a name. */
  valuesAt(name: string): Promise<readonly string[]> | readonly string[]
  /** Makes the provider reject every further change. */
  breakDown(): void | Promise<void>
  close(): Promise<void>
}

const neverAborted = new AbortController().signal
const name = '_acme-challenge.apps.example.test'

/** The contract of `dns-challenge.ts`. */
export function describeDnsChallenge(title: string, start: () => Promise<SuiteProvider>): void {
  describe(title, () => {
    let scene: SuiteProvider
    beforeEach(async () => {
      scene = await start()
    })
    afterEach(() => scene.close())

    test('a value is added once beside existing ones, and removed alone', async () => {
      const { provider } = scene
      await provider.present(name, 'first-value', neverAborted)
      await provider.present(name, 'second_value', neverAborted)
      await provider.present(name, 'second_value', neverAborted)
      expect([...(await scene.valuesAt(name))].toSorted()).toEqual(['first-value', 'second_value'])
      await provider.remove(name, 'first-value', neverAborted)
      await provider.remove(name, 'first-value', neverAborted)
      expect(await scene.valuesAt(name)).toEqual(['second_value'])
    })

    test('a rejected call reports the provider and the reason', async () => {
      await scene.breakDown()
      const failure = await scene.provider.present(name, 'x', neverAborted).catch((error: Error) => error)
      expect(failure).toBeInstanceOf(DnsProviderFailed)
      expect((failure as Error).message).toMatch(/broken on purpose/)
    })

    test('an aborted call ends with the reason', async () => {
      const enough = new Error('enough')
      await expect(scene.provider.present(name, 'x', AbortSignal.abort(enough))).rejects.toBe(enough)
      expect(await scene.valuesAt(name)).toEqual([])
    })
  })
}
