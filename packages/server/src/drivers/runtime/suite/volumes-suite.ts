import { extract, pack } from 'tar-stream'
import { describe, expect, test } from 'vitest'
import { readTar } from '../../tar/read-tar.ts'
import { encodeHeader, tarEnd } from '../../tar/tar-header.ts'
import { call, neverAborted, type SuiteBench } from './suite-bench.ts'

/** Tests of volumes. */
export function volumesSuite(suite: SuiteBench): void {
  const { projectId, owner, newId, start, stop } = suite
  describe('volumes', () => {
    test('data is kept when an instance is replaced', async () => {
      const volumes = [{ id: newId('vol'), name: 'my-data', mountPath: '/data', readOnly: false }]
      await suite.runtime.createVolume({ id: volumes[0]!.id, projectId, name: 'my-data' })
      const one = await start({ volumes })
      expect(await call(one, 'write', 'kept')).toBe('written')
      await stop(one.instanceId)
      await suite.runtime.createVolume({ id: volumes[0]!.id, projectId, name: 'my-data' })
      const other = await start({ volumes, owner: owner('later') })
      expect(await call(other, 'read')).toBe('kept')
      await stop(other.instanceId)
      expect(await suite.runtime.volumeSizeBytes(volumes[0]!.id)).toBeGreaterThanOrEqual(4)
      await suite.runtime.removeVolume(volumes[0]!.id)
      await suite.runtime.removeVolume(volumes[0]!.id)
      expect(await suite.runtime.volumeSizeBytes(volumes[0]!.id)).toBeNull()
    })

    test('a volume is mounted at its mountPath, or its variable names the folder', async () => {
      const id = newId('vol')
      await suite.runtime.createVolume({ id, projectId, name: 'my-data' })
      const one = await start({ volumes: [{ id, name: 'my-data', mountPath: '/data/', readOnly: false }] })
      await call(one, 'write', 'here')
      const { BERTH_VOLUME_MY_DATA: folder } = JSON.parse(await call(one, 'env'))
      const { volumesNotMounted } = (await suite.runtime.inspect(one.instanceId)) ?? {}
      if (volumesNotMounted) expect(volumesNotMounted).toEqual([{ mountPath: '/data', variable: 'BERTH_VOLUME_MY_DATA' }])
      else expect(await call(one, 'file', '/data/file')).toBe('here')
      expect(await call(one, 'file', `${folder}/file`)).toBe('here')
      await stop(one.instanceId)
      await suite.runtime.removeVolume(id)
    })

    test('volumes inside the app folder and inside each other keep their content; commands see them', async () => {
      const volumes = [
        { id: newId('vol'), name: 'cache', mountPath: '/app/data/cache', readOnly: false },
        { id: newId('vol'), name: 'my-data', mountPath: '/app/data', readOnly: false },
        { id: newId('vol'), name: 'other', mountPath: '/var/lib/other', readOnly: false },
      ]
      for (const { id, name } of volumes) await suite.runtime.createVolume({ id, projectId, name })
      const one = await start({ volumes })
      if ((await suite.runtime.inspect(one.instanceId))?.volumesNotMounted) return await stop(one.instanceId)
      for (const path of ['data/file', '/app/data/cache/file', '/var/lib/other/file']) await call(one, 'put', `${path}=${path}`)
      await call(one, 'link', 'shortcut=/var/lib/other')
      expect(await call(one, 'file', 'shortcut/file')).toBe('/var/lib/other/file')
      const { BERTH_VOLUME_CACHE: folder } = JSON.parse(await call(one, 'env'))
      expect(folder).toBe('/app/data/cache')
      for (const path of ['data/cache/file', '$BERTH_VOLUME_CACHE/file', 'program.cjs']) {
        const argv = ['sh', '-c', `test -f "${path}"`]
        expect(await suite.runtime.exec(one.instanceId, { argv }, neverAborted), path).toMatchObject({ exitCode: 0 })
      }
      await stop(one.instanceId)
      expect(await filesIn(suite.runtime.readVolume(volumes[0]!.id, neverAborted))).toEqual({ file: '/app/data/cache/file' })
      expect(await filesIn(suite.runtime.readVolume(volumes[1]!.id, neverAborted))).toEqual({ file: 'data/file' })
      const other = await start({ volumes })
      expect(await call(other, 'file', '/app/data/file')).toBe('data/file')
      expect(await call(other, 'file', 'data/cache/file')).toBe('/app/data/cache/file')
      await stop(other.instanceId)
      for (const { id } of volumes) await suite.runtime.removeVolume(id)
    })

    test('a read-only volume can be read and not written, also inside another one', async () => {
      const volumes = [
        { id: newId('vol'), name: 'outer', mountPath: '/data', readOnly: false },
        { id: newId('vol'), name: 'my-data', mountPath: '/data/fixed', readOnly: true },
      ]
      for (const { id, name } of volumes) await suite.runtime.createVolume({ id, projectId, name })
      await suite.runtime.writeVolume(volumes[1]!.id, once(await tarWith({ file: 'fixed' })), neverAborted)
      const one = await start({ volumes })
      if (!(await suite.runtime.inspect(one.instanceId))?.volumesNotMounted) {
        expect(await call(one, 'file', '/data/fixed/file')).toBe('fixed')
        await expect(call(one, 'put', '/data/fixed/file=changed')).rejects.toThrow('EROFS')
        expect(await call(one, 'put', '/data/file=written')).toBe('written')
      }
      await stop(one.instanceId)
      for (const { id } of volumes) await suite.runtime.removeVolume(id)
    })

    test('its content is exported as a tar and replaced by one; a truncated tar leaves the old content', async () => {
      const id = newId('vol')
      const volumes = [{ id, name: 'my-data', mountPath: '/data', readOnly: false }]
      await suite.runtime.createVolume({ id, projectId, name: 'my-data' })
      const one = await start({ volumes })
      await call(one, 'write', 'old')
      await stop(one.instanceId)
      expect(await filesIn(suite.runtime.readVolume(id, neverAborted))).toEqual({ file: 'old' })

      async function* broken() {
        yield (await tarWith({ file: 'half' })).subarray(0, 514)
        throw new Error('the line was cut')
      }
      await expect(suite.runtime.writeVolume(id, broken(), neverAborted)).rejects.toThrow()
      expect(await filesIn(suite.runtime.readVolume(id, neverAborted))).toEqual({ file: 'old' })

      await suite.runtime.writeVolume(id, once(await tarWith({ file: 'new', 'deep/other': 'x' })), neverAborted)
      expect(await filesIn(suite.runtime.readVolume(id, neverAborted))).toEqual({ file: 'new', 'deep/other': 'x' })
      const other = await start({ volumes })
      expect(await call(other, 'read')).toBe('new')
      await stop(other.instanceId)
      await suite.runtime.removeVolume(id)
    })

    test('names that are not UTF-8 are written and read byte for byte', async () => {
      const id = newId('vol')
      await suite.runtime.createVolume({ id, projectId, name: 'my-data' })
      const [odd, long] = ['caf\xe9', `${'d'.repeat(120)}/\xff\xfe`]
      const header = { type: 'file' as const, size: 0, mode: 0o644, uid: 1000, gid: 1000, mtime: new Date(0), linkname: '' }
      const tar = Buffer.concat([...[odd, long].map((name) => encodeHeader({ ...header, name })), tarEnd])
      await suite.runtime.writeVolume(id, once(tar), neverAborted)
      const names: string[] = []
      for await (const entry of readTar(suite.runtime.readVolume(id, neverAborted))) names.push(entry.header.name)
      expect(names).toEqual(expect.arrayContaining([odd, long]))
      await suite.runtime.removeVolume(id)
    })
  })
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function tarWith(files: Record<string, string>): Promise<Buffer> {
  const archive = pack()
  for (const [name, text] of Object.entries(files)) archive.entry({ name, uid: 1000, gid: 1000, mode: 0o644 }, text)
  archive.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of archive) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

async function filesIn(tar: AsyncIterable<Uint8Array>): Promise<Record<string, string>> {
  const reader = extract()
  const fed = (async () => {
    for await (const chunk of tar)
      if (!reader.write(chunk)) await new Promise<void>((resolve) => reader.once('drain', () => resolve()))
    reader.end(Buffer.alloc(0))
  })()
  const files: Record<string, string> = {}
  for await (const entry of reader) {
    const chunks: Buffer[] = []
    for await (const chunk of entry) chunks.push(chunk as Buffer)
    if (entry.header.type === 'file') files[entry.header.name] = Buffer.concat(chunks).toString('utf8')
  }
  await fed
  return files
}
