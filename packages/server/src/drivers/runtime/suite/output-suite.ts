import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Instance } from '../runtime.ts'
import { call, collect, neverAborted, readAll, type SuiteBench } from './suite-bench.ts'

/** Tests of `logs`. */
export function outputSuite(suite: SuiteBench): void {
  const { start, stop } = suite
  describe('output', () => {
    test('is read from where the last reader stopped, without loss or repetition, across a restart of the control plane', async () => {
      const one = await start()
      const words = (from: number) => Array.from({ length: 50 }, (_, at) => `line ${from + at}`)
      await call(one, 'say', words(0).join(','))
      const first = await readAll(suite.runtime, one.instanceId, null, 31)
      await suite.reopen()
      const again = (await suite.runtime.inspect(one.instanceId)) as Instance
      await call(again, 'say', words(50).join(','))
      const rest = await readAll(suite.runtime, one.instanceId, first.at(-1)?.position ?? null, 70)
      const all = [...first, ...rest].map(({ message }) => message)
      expect(all).toEqual(['ready', ...words(0), ...words(50)])
      await stop(one.instanceId)
    })

    test('ends with the lines so far if it is read without following', async () => {
      const one = await start()
      await call(one, 'say', 'one,two')
      // Waits until every line was written.
      const reported = await readAll(suite.runtime, one.instanceId, null, 3)
      expect(reported).toHaveLength(3)
      const lines: string[] = []
      for await (const { message } of suite.runtime.logs(one.instanceId, null, neverAborted, { follow: false }))
        lines.push(message)
      expect(lines).toEqual(['ready', 'one', 'two'])
      expect(await suite.runtime.inspect(one.instanceId)).toMatchObject({ state: 'running' })
      await stop(one.instanceId)
    })

    test('distinguishes stdout and stderr, and includes the last lines before a stop', async () => {
      const one = await start()
      await call(one, 'complain', 'oh no')
      const read = collect(suite.runtime, one.instanceId)
      await pause(500)
      await stop(one.instanceId)
      const found = await read
      expect(found.map(({ stream, message }) => `${stream}: ${message}`)).toEqual(
        expect.arrayContaining(['stdout: ready', 'stderr: oh no', 'stdout: bye']),
      )
    })
  })
}
