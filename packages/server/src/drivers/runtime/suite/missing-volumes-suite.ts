import { describe, expect, test } from 'vitest'
import { VolumeMissing } from '../runtime-errors.ts'
import type { SuiteBench } from './suite-bench.ts'
import { neverAborted } from './suite-bench.ts'

/** Tests of volumes that must exist and do not. */
export function missingVolumesSuite(suite: SuiteBench): void {
  const { projectId, newId, request } = suite
  describe('a volume that has to exist', () => {
    test('is not created by createVolume or by a start', async () => {
      const volume = { id: newId('vol'), name: 'my-data' }
      const opened = suite.runtime.createVolume({ ...volume, projectId, mustExist: true })
      await expect(opened).rejects.toThrow(VolumeMissing)
      const wanted = request({ volumes: [{ ...volume, mountPath: '/data', readOnly: false }] })
      const started = suite.runtime.start(wanted, neverAborted)
      await expect(started).rejects.toThrow(VolumeMissing)
      await expect(started).rejects.toThrow(`my-data (${volume.id}) does not exist`)
      expect(await suite.runtime.volumeSizeBytes(volume.id)).toBeNull()
      expect(await suite.runtime.inspect(wanted.instanceId)).toBeUndefined()
      await expect(suite.runtime.createVolume({ ...volume, projectId, mustExist: true })).rejects.toThrow(VolumeMissing)
    })

    test('is opened if it exists, also after a restart of the control plane, and is missing after its removal', async () => {
      const volume = { id: newId('vol'), projectId, name: 'my-data' }
      await suite.runtime.createVolume(volume)
      await suite.runtime.createVolume({ ...volume, mustExist: true })
      await suite.reopen()
      await suite.runtime.createVolume({ ...volume, mustExist: true })
      await suite.runtime.removeVolume(volume.id)
      await expect(suite.runtime.createVolume({ ...volume, mustExist: true })).rejects.toThrow(VolumeMissing)
    })
  })
}
