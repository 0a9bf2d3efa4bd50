import { describe, expect, test } from 'vitest'
import type { Instance } from '../runtime.ts'
import { call, neverAborted, resources, type SuiteBench, until } from './suite-bench.ts'

/** Tests of instances that end by themselves. */
export function endsSuite(suite: SuiteBench): void {
  const { request, start, stop } = suite
  /** Records the ends of an instance that the runtime reports. */
  const listen = (instanceId: string) => {
    const ends: Instance['lastEnd'][] = []
    const unlisten = suite.runtime.onChange(({ instance, kind }) => {
      if (instance.instanceId === instanceId && kind !== 'moved' && kind !== 'health') ends.push(instance.lastEnd)
    })
    return { ends, unlisten }
  }
  /** Makes the program exit. Retries until the program accepts the request. */
  const exit = (instanceId: string, code: number) =>
    until(async () => (await call((await suite.runtime.inspect(instanceId)) as Instance, 'exit', String(code))) !== '')

  describe('exits', () => {
    test('an instance is restarted as often as its policy allows', async () => {
      const { instanceId } = await start()
      const { ends, unlisten } = listen(instanceId)
      await suite.runtime.setRestart(instanceId, { name: 'on-failure', maxRetries: 1 }, neverAborted)
      await exit(instanceId, 3)
      await until(async () => ends.length === 1)
      await exit(instanceId, 5)
      await until(async () => ends.length === 2)
      expect(ends).toMatchObject([
        { exitCode: 3, reason: 'exit' },
        { exitCode: 5, reason: 'exit' },
      ])
      expect(ends[0]?.at).not.toBe(ends[1]?.at)
      expect(await suite.runtime.inspect(instanceId)).toMatchObject({ state: 'exited', restarts: 1, lastEnd: ends[1] })
      unlisten()
      await stop(instanceId)
      await suite.runtime.setRestart(instanceId, { name: 'always' }, neverAborted)
      expect(await suite.runtime.inspect(instanceId)).toBeUndefined()
    })

    test('a command ends with its exit code, gets its arguments unchanged, and its output is complete', async () => {
      const script = 'console.log(JSON.stringify([process.argv.slice(1), process.env.PORT ?? null])); process.exit(7)'
      const words = ['$HOME `id`', 'a; b | c', '']
      const wanted = request({ entrypoint: [], command: ['node', '-e', script, ...words], port: null })
      await suite.runtime.start(wanted, neverAborted)
      const lines: string[] = []
      for await (const { message } of suite.runtime.logs(wanted.instanceId, null, neverAborted)) lines.push(message)
      expect(lines).toEqual([JSON.stringify([words, null])])
      await until(async () => (await suite.runtime.inspect(wanted.instanceId))?.state === 'exited')
      expect(await suite.runtime.inspect(wanted.instanceId)).toMatchObject({ exitCode: 7, outOfMemory: false, address: null })
      await stop(wanted.instanceId)
      expect(await suite.runtime.inspect(wanted.instanceId)).toBeUndefined()
    })

    test('with the policy on-failure, an instance is not restarted after a success', async () => {
      const { instanceId } = await start()
      await suite.runtime.setRestart(instanceId, { name: 'on-failure' }, neverAborted)
      await exit(instanceId, 0)
      await until(async () => (await suite.runtime.inspect(instanceId))?.state === 'exited')
      expect(await suite.runtime.inspect(instanceId)).toMatchObject({ exitCode: 0, restarts: 0 })
      await stop(instanceId)
    })

    test('a restart after an out-of-memory exit reports that reason, and later exits report their own', async (context) => {
      if (suite.noLimits) context.skip(suite.noLimits)
      const volumeId = suite.newId('vol')
      await suite.runtime.createVolume({ id: volumeId, projectId: suite.projectId, name: 'my-data' })
      const wanted = request({
        command: ['node', 'program.cjs', 'eat-once'],
        volumes: [{ id: volumeId, name: 'my-data', mountPath: '/data', readOnly: false }],
        port: null,
        restart: true,
        resources: { ...resources, memoryMb: 96 },
      })
      const { ends, unlisten } = listen(wanted.instanceId)
      await suite.runtime.start(wanted, neverAborted)
      await until(async () => ends.length >= 2)
      expect(ends[0]).toMatchObject({ reason: 'out_of_memory' })
      expect(ends[1]).toMatchObject({ reason: 'exit', exitCode: 4 })
      unlisten()
      await stop(wanted.instanceId)
      await suite.runtime.removeVolume(volumeId)
    })
  })
}
