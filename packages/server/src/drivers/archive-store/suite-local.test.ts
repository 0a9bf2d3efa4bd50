import { mkdir, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { tempFolder } from '../../../../../tests/kit/temp-folder.ts'
import { silentLog } from '../../platform/log.ts'
import { createArchiveStores } from './create-archive-stores.ts'
import { rootOf } from './local-folders.ts'
import { localStore } from './local-store.ts'
import { archiveStoreSuite, chunksOf, namesIn, neverAborted, readAll } from './suite.ts'

describe('a local destination', () => {
  archiveStoreSuite(async () => {
    const folder = await tempFolder('store')
    const root = join(folder.path, 'made', 'by', 'the', 'store')
    const store = await createArchiveStores({ log: silentLog, allowPrivate: true }).open({
      kind: 'local',
      root,
      path: join(root, 'team'),
    })
    return { store, cleanUp: () => folder.remove() }
  })

  test('has to be at or below a root, compared by path', () => {
    expect(rootOf('/srv/backups/team', ['/other', '/srv/backups/'])).toBe('/srv/backups/')
    expect(rootOf('/srv/backups', ['/srv/backups'])).toBe('/srv/backups')
    for (const path of ['/srv/backups2', '/srv/backups/../x', '/srv', 'team', '/srv/backups/a\0b', '/'])
      expect(rootOf(path, ['/srv/backups'])).toBeUndefined()
  })

  test('cannot be left by a path, nor by a symlink in place of a folder or file', async () => {
    await using base = await tempFolder('store')
    const root = join(base.path, 'root')
    const outside = join(base.path, 'outside')
    await mkdir(join(outside, 'deep'), { recursive: true })
    await mkdir(root)
    await writeFile(join(outside, 'secret'), 'secret')
    const open = (path: string) => localStore({ kind: 'local', root, path })

    await expect(open(outside).put('a', chunksOf(Buffer.from('x')), neverAborted)).rejects.toMatchObject({ reason: 'denied' })
    await expect(open('team').put('a', chunksOf(Buffer.from('x')), neverAborted)).rejects.toMatchObject({ reason: 'denied' })

    await symlink(outside, join(root, 'team'))
    await expect(open(join(root, 'team')).put('a', chunksOf(Buffer.from('x')), neverAborted)).rejects.toMatchObject({
      reason: 'denied',
    })
    await expect(readAll(open(join(root, 'team')).get('secret', neverAborted))).rejects.toMatchObject({ reason: 'denied' })

    const store = open(root)
    await expect(store.put('team/owned', chunksOf(Buffer.from('x')), neverAborted)).rejects.toMatchObject({ reason: 'denied' })
    await expect(readAll(store.get('team/secret', neverAborted))).rejects.toMatchObject({ reason: 'missing' })
    await symlink(join(outside, 'secret'), join(root, 'link'))
    await expect(readAll(store.get('link', neverAborted))).rejects.toMatchObject({ reason: 'missing' })
    await store.remove('team/secret', neverAborted)
    await rm(join(root, '.unfinished'), { recursive: true })
    await symlink(outside, join(root, '.unfinished'))
    await expect(store.put('fine', chunksOf(Buffer.from('x')), neverAborted)).rejects.toMatchObject({ reason: 'denied' })
    expect(await store.removeUnfinished(new Date(Date.now() + 1000), neverAborted)).toBe(0)
    expect(await namesIn(store, '')).toEqual([])
    expect((await readdir(outside)).sort()).toEqual(['deep', 'secret'])
  })

  test('an old file of a killed put is removed, a put in progress is kept', async () => {
    await using base = await tempFolder('store')
    const store = localStore({ kind: 'local', root: base.path, path: base.path })
    await store.put('whole', chunksOf(Buffer.from('x')), neverAborted)
    const drafts = join(base.path, '.unfinished')
    for (const name of ['old', 'young']) await writeFile(join(drafts, name), 'half')
    const hourAgo = new Date(Date.now() - 3_600_000)
    await utimes(join(drafts, 'old'), hourAgo, hourAgo)
    expect(await store.removeUnfinished(new Date(Date.now() - 60_000), neverAborted)).toBe(1)
    expect(await readdir(drafts)).toEqual(['young'])
    expect(await namesIn(store, '')).toEqual(['whole'])
  })

  test('folders are removed with their last archive, and a concurrent put succeeds', async () => {
    await using base = await tempFolder('store')
    const store = localStore({ kind: 'local', root: base.path, path: base.path })
    for (let times = 0; times < 30; times += 1) {
      await store.put('runs/one/a', chunksOf(Buffer.from('a')), neverAborted)
      await Promise.all([
        store.remove('runs/one/a', neverAborted),
        store.put('runs/one/b', chunksOf(Buffer.from('b')), neverAborted),
      ])
      expect(await namesIn(store, '')).toEqual(['runs/one/b'])
      await store.remove('runs/one/b', neverAborted)
    }
    expect(await readdir(base.path)).toEqual(['.unfinished'])
  })
})
