import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Probe, ProbeTarget } from './probe.ts'

/** Test environment that an implementation provides. */
export interface SuiteProbe {
  probe: Probe
  /** A healthy target. */
  well: ProbeTarget
  /** A target that reports that it is unhealthy. */
  unwell: ProbeTarget
  unreachable: ProbeTarget
  close(): Promise<void>
}

const neverAborted = new AbortController().signal

/** The contract of `Probe`. */
export function describeProbe(title: string, start: () => Promise<SuiteProbe>): void {
  describe(title, () => {
    let scene: SuiteProbe
    beforeAll(async () => {
      scene = await start()
    })
    afterAll(() => scene?.close())

    test('a serving target is healthy, with its status', async () => {
      expect(await scene.probe(scene.well, 5_000, neverAborted)).toEqual({ healthy: true, status: 200 })
    })

    test('an unhealthy and a missing target are unhealthy, with a reason', async () => {
      const reason = expect.stringMatching(/./)
      expect(await scene.probe(scene.unwell, 5_000, neverAborted)).toEqual({ healthy: false, status: 500, reason })
      expect(await scene.probe(scene.unreachable, 5_000, neverAborted)).toEqual({ healthy: false, status: null, reason })
    })

    test('an aborted probe resolves with a result and does not reject', async () => {
      expect(await scene.probe(scene.well, 5_000, AbortSignal.abort())).toMatchObject({ healthy: false, status: null })
    })
  })
}
