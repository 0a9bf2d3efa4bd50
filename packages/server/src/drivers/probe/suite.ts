import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Probe, ProbeTarget } from './probe.ts'

/** What an implementation lends to the suite. */
export interface SuiteProbe {
  probe: Probe
  /** Where something serves that is well. */
  well: ProbeTarget
  /** Where something serves that says that it is not. */
  unwell: ProbeTarget
  nobody: ProbeTarget
  close(): Promise<void>
}

const never = new AbortController().signal

/** The contract of `Probe`. */
export function describeProbe(title: string, start: () => Promise<SuiteProbe>): void {
  describe(title, () => {
    let scene: SuiteProbe
    beforeAll(async () => {
      scene = await start()
    })
    afterAll(() => scene?.close())

    test('who serves is healthy, with the status', async () => {
      expect(await scene.probe(scene.well, 5_000, never)).toEqual({ healthy: true, status: 200 })
    })

    test('who says that it is not well, and who is not there, is not healthy, for a reason', async () => {
      const reason = expect.stringMatching(/./)
      expect(await scene.probe(scene.unwell, 5_000, never)).toEqual({ healthy: false, status: 500, reason })
      expect(await scene.probe(scene.nobody, 5_000, never)).toEqual({ healthy: false, status: null, reason })
    })

    test('one that is given up is an answer, not a rejection', async () => {
      expect(await scene.probe(scene.well, 5_000, AbortSignal.abort())).toMatchObject({ healthy: false, status: null })
    })
  })
}
