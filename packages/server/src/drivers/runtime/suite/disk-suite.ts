import { describe, expect, test } from 'vitest'
import type { InstanceChange } from '../runtime.ts'
import { BuildFailed } from '../runtime-errors.ts'
import { call, resources, type SuiteBench } from './suite-bench.ts'

/** A limit below the amount that the program writes when it is told to fill its disk. */
const small = { ...resources, diskMb: 32 }

/** Tests that instances and builds are held to `diskMb`. */
export function diskSuite(suite: SuiteBench): void {
  const { projectId, newId, start, stop, build } = suite
  describe('an instance over its disk limit', () => {
    test.each(['volume', 'folder'])('is ended and stays ended, also after a restart of the control plane: %s', async (where) => {
      const id = newId('vol')
      await suite.runtime.createVolume({ id, projectId, name: 'my-data' })
      const volumes = [{ id, name: 'my-data', mountPath: '/data', readOnly: false }]
      const changes: InstanceChange[] = []
      const end = suite.runtime.onChange((change) => changes.push(change))
      const one = await start({ volumes, resources: small, restart: true })
      await call(one, 'fill', where).catch(() => 'it was ended before it could answer')
      const found = () => suite.runtime.inspect(one.instanceId)
      await expect.poll(found).toMatchObject({ state: 'exited', diskFull: true, restarts: 0 })
      const reported = () => changes.find(({ instance, kind }) => kind === 'exited' && instance.instanceId === one.instanceId)
      await expect.poll(reported).toMatchObject({ instance: { diskFull: true }, reason: expect.stringContaining('disk') })
      end()
      await suite.reopen()
      expect(await found()).toMatchObject({ state: 'exited', diskFull: true })
      await stop(one.instanceId)
      await suite.runtime.removeVolume(id)
    })

    test('is not ended below the limit', async () => {
      // A separate artifact: plain processes share the folder of theirs, and other tests have left large files in it.
      const artifact = await build('disk', {})
      const one = await start({ artifact, resources: { ...resources, diskMb: 64 }, restart: true })
      const full = await start({ artifact, resources: small, restart: true })
      expect(await call(one, 'fill', 'folder')).toBe('filled')
      await call(full, 'fill', 'folder').catch(() => 'it was ended before it could answer')
      // By then the runtime has measured the other instance as well.
      await expect.poll(() => suite.runtime.inspect(full.instanceId)).toMatchObject({ diskFull: true })
      expect(await suite.runtime.inspect(one.instanceId)).toMatchObject({ state: 'running' })
      for (const { instanceId } of [one, full]) await stop(instanceId)
    })
  })

  test('a build over its disk limit is ended while it writes', async () => {
    const write = "require('fs').writeFileSync('big', Buffer.alloc(48 << 20, 1)); setInterval(() => {}, 1000)"
    const failure = await build('full', { buildCommand: `node -e "${write}"` }, { resources: small }).catch(
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(BuildFailed)
    expect(failure).toMatchObject({ code: 'disk_full', message: expect.stringContaining('limit of 32 MB') })
  })
}
