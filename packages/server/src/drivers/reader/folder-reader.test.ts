import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { RootDirectoryError } from '../../source/detection/root-directory-error.ts'
import { temporaryFolder } from '../../source/detection/temporary-folder.ts'
import { FolderLimitExceeded, FolderReader, type FolderReaderSettings } from './folder-reader.ts'

const entry = fileURLToPath(new URL('test-reader.ts', import.meta.url))
const harmful = (settings: Partial<FolderReaderSettings> = {}) =>
  new FolderReader({ entry, seconds: 3, heapMb: 64, idleMs: 1000, ...settings })

const own = { organizationId: 'org_own' }

/** Pid of the process that answered. */
const pidOf = async (reader: FolderReader) => (await reader.detect('/harmless', own)).name

const isGone = (pid: string | null) => {
  try {
    process.kill(Number(pid), 0)
    return false
  } catch {
    return true
  }
}

test.each(['/spin', '/regexp', '/wait'])(
  '%s is ended at the time limit, and others are served during and after it',
  async (folder) => {
    const reader = harmful({ maxConcurrent: 1 })
    const first = await pidOf(reader)
    let turns = 0
    const clock = setInterval(() => turns++, 10)
    await expect(reader.detect(folder, own)).rejects.toThrow(new FolderLimitExceeded('Reading the folder took longer than 3 s'))
    clearInterval(clock)
    // The event loop was free all the time: if it had been blocked, the count would be 0.
    expect(turns).toBeGreaterThan(20)
    await expect.poll(() => isGone(first)).toBe(true)
    expect(await pidOf(reader)).not.toBe(first)
  },
)

test.each(['/heap', '/one-large-array'])('%s ends its own process and no other', async (folder) => {
  const reader = harmful({ seconds: 60 })
  await expect(reader.detect(folder, own)).rejects.toThrow(
    new FolderLimitExceeded('Reading the folder needs more than 64 MB of memory'),
  )
  expect(await pidOf(reader)).toMatch(/^\d+$/)
})

test('a stack overflow is an error of the folder, and the process continues', async () => {
  const reader = harmful()
  const pid = await pidOf(reader)
  await expect(reader.detect('/deep', own)).rejects.toBeInstanceOf(FolderLimitExceeded)
  expect(await pidOf(reader)).toBe(pid)
})

test('an abort ends a running request, and removes a waiting one from the queue', async () => {
  const reader = harmful({ maxConcurrent: 1, seconds: 60 })
  const [one, two] = [new AbortController(), new AbortController()]
  const working = reader.detect('/spin', { ...own, abort: one.signal })
  const waiting = reader.detect('/harmless', { ...own, abort: two.signal })
  const last = reader.detect('/harmless', own)
  two.abort(new Error('no more time'))
  await expect(waiting).rejects.toThrow('no more time')
  one.abort(new Error('cancelled'))
  await expect(working).rejects.toThrow('cancelled')
  expect((await last).name).toMatch(/^\d+$/)
})

test('an idle process is ended', async () => {
  const pid = await pidOf(harmful({ idleMs: 50 }))
  await expect.poll(() => isGone(pid)).toBe(true)
})

test('the reader process gives the same result as detection in this process', async () => {
  const reader = new FolderReader({ idleMs: 1000, seconds: 60 })
  const folder = await temporaryFolder({ 'package.json': { dependencies: { next: '15' } }, 'web/a.txt': '', 'web/b.md': '' })
  mkdirSync(join(folder, 'node_modules'))
  writeFileSync(join(folder, 'node_modules/x'), '')
  symlinkSync('/etc', join(folder, 'out'))
  expect(await reader.detect(folder, own)).toMatchObject({ framework: 'nextjs' })
  expect(await reader.list(folder, { kind: 'generated' }, own)).toEqual([
    { path: 'out', type: 'symlink' },
    { path: 'package.json', type: 'file' },
    { path: 'web', type: 'directory' },
    { path: 'web/a.txt', type: 'file' },
    { path: 'web/b.md', type: 'file' },
  ])
  const ignored = await reader.list(folder, { kind: 'dockerignore', text: 'node_modules\nweb/*\n!web/b.md\n' }, own)
  expect(ignored.map(({ path }) => path)).toEqual(['out', 'package.json', 'web', 'web/b.md'])
  await expect(reader.detect(folder, { ...own, rootDirectory: 'gone' })).rejects.toBeInstanceOf(RootDirectoryError)
})

test('a slow folder of one organisation does not delay another organisation', async () => {
  const reader = harmful({ seconds: 60 })
  const enough = new AbortController()
  const busy = ['/spin', '/spin', '/spin'].map((folder) => reader.detect(folder, { ...own, abort: enough.signal }))
  expect((await reader.detect('/harmless', { organizationId: 'org_other' })).name).toMatch(/^\d+$/)
  enough.abort(new Error('enough'))
  for (const one of busy) await expect(one).rejects.toThrow('enough')
  expect(await pidOf(reader)).toMatch(/^\d+$/)
})
