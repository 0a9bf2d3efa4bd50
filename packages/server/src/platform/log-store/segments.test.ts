import {
  appendFileSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { zstdDecompressSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createLogStore, type LogStore, type LogStoreSettings } from './log-store.ts'

let folder: string
let errors: string[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-log-segments-'))
  errors = []
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function withStore<T>(settings: Partial<LogStoreSettings>, work: (store: LogStore) => Promise<T>): Promise<T> {
  const store = createLogStore({ folder, flushMs: 2, onError: (_, what) => errors.push(what), ...settings })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

const append = (store: LogStore, from: number, to: number, projectId = 'prj_a') =>
  store.append(
    projectId,
    'runtime',
    Array.from({ length: to - from }, (_, at) => ({
      stream: 'stdout' as const,
      service: null,
      deploymentId: null,
      message: `line ${from + at} ${'.'.repeat(50)}`,
    })),
  )
const numbersIn = async (store: LogStore, projectId = 'prj_a') =>
  (await store.tail(projectId, 'runtime', { limit: 1_000_000 })).map(({ message }) => Number(message.split(' ')[1]))
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at)
const streamFolder = () => join(folder, 'prj_a', 'runtime')
const files = (ending: string) =>
  readdirSync(streamFolder())
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => join(streamFolder(), name))
/** Segments are packed concurrently: a listed file may be deleted a moment later. */
const bytesOnDisk = () =>
  readdirSync(streamFolder()).reduce(
    (sum, name) => sum + (statSync(join(streamFolder(), name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  )

describe('closed segments', () => {
  test('are compressed, and zstd decompresses them', async () => {
    await withStore({ segmentBytes: 20_000 }, async (store) => {
      for (let at = 0; at < 2000; at += 100) await append(store, at, at + 100)
    })
    const packed = files('.zst')
    expect(packed.length).toBeGreaterThan(5)
    expect(files('.log')).toHaveLength(1)
    const text = packed.map((path) => zstdDecompressSync(readFileSync(path)).toString()).join('')
    const found = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).message.split(' ')[1])
    expect(found).toEqual(numbers(0, found.length).map(String))
    await withStore({}, async (store) => expect(await numbersIn(store)).toEqual(numbers(0, 2000)))
  })

  test('have a correct time index: since finds lines in them', async () => {
    await withStore({ segmentBytes: 2000 }, async (store) => {
      for (let minute = 0; minute < 200; minute++) {
        const time = new Date(Date.UTC(2026, 0, 1, 0, minute))
        await store.append('prj_a', 'runtime', [
          { stream: 'stdout', service: null, deploymentId: null, message: `line ${minute}`, time },
        ])
        await store.flush()
      }
      const found = await store.tail('prj_a', 'runtime', { limit: 999, since: new Date(Date.UTC(2026, 0, 1, 0, 50)) })
      expect(found).toHaveLength(150)
    })
    expect(files('.zst').length).toBeGreaterThan(3)
  })
})

describe('the size limit', () => {
  test('is kept: the oldest lines are removed, the newest stay, without a gap', async () => {
    const maxBytesPerProject = 100_000
    await withStore({ maxBytesPerProject, segmentBytes: 5000 }, async (store) => {
      for (let at = 0; at < 15_000; at += 500) {
        await append(store, at, at + 500)
        await store.flush()
        expect(bytesOnDisk()).toBeLessThan(maxBytesPerProject)
      }
      const left = await numbersIn(store)
      expect(left[0]).toBeGreaterThan(0)
      expect(left).toEqual(numbers(left[0]!, 15_000))
    })
    expect(bytesOnDisk()).toBeLessThanOrEqual(maxBytesPerProject / 2)
  })

  test('of one kind does not affect the other kinds', async () => {
    await withStore({ maxBytesPerProject: 50_000 }, async (store) => {
      await store.append('prj_a', 'deployments', [{ deploymentId: 'dep_1', step: null, stream: 'system', message: 'kept' }])
      for (let at = 0; at < 20_000; at += 500) await append(store, at, at + 500)
      expect(await store.tail('prj_a', 'deployments', { limit: 5 })).toHaveLength(1)
    })
  })
})

describe('after a crash', () => {
  test.each([
    ['half a line', (path: string) => truncateSync(path, statSync(path).size - 7), 99],
    ['a whole line but its newline', (path: string) => truncateSync(path, statSync(path).size - 1), 99],
    ['the start of a line', (path: string) => appendFileSync(path, '{"id":"17'), 100],
    ['zeros that were never written', (path: string) => appendFileSync(path, Buffer.alloc(300_000)), 100],
    ['noise with newlines in it', (path: string) => appendFileSync(path, '\xff\n{"id":\n\n\n{}\n'), 100],
  ])('%s at the end is dropped, and nothing else', async (_, damage, left) => {
    await withStore({}, (store) => append(store, 0, 100))
    damage(files('.log')[0]!)
    await withStore({}, async (store) => {
      expect(await numbersIn(store)).toEqual(numbers(0, left))
      await append(store, 100, 110)
    })
    await withStore({}, async (store) => expect(await numbersIn(store)).toEqual([...numbers(0, left), ...numbers(100, 110)]))
  })

  test('a file without a valid line is removed', async () => {
    await withStore({}, (store) => append(store, 0, 1))
    writeFileSync(files('.log')[0]!, 'x'.repeat(1000))
    await withStore({}, async (store) => {
      await append(store, 1, 2)
      expect(await numbersIn(store)).toEqual([1])
    })
  })

  test('during compression no line is lost or repeated', async () => {
    await withStore({ segmentBytes: 1_000_000 }, (store) => append(store, 0, 500))
    const plain = files('.log')[0]!
    copyFileSync(plain, join(folder, 'copy'))
    await withStore({ segmentBytes: 1000 }, (store) => append(store, 500, 510))
    copyFileSync(join(folder, 'copy'), plain)
    writeFileSync(`${plain}.tmp`, 'half of a compressed file')
    await withStore({ segmentBytes: 1000 }, async (store) => expect(await numbersIn(store)).toEqual(numbers(0, 510)))
    expect(files('.tmp')).toEqual([])
  })

  test('uncompressed closed segments are compressed, and readable meanwhile', async () => {
    await withStore({ segmentBytes: 1_000_000 }, (store) => append(store, 0, 500))
    await withStore({ segmentBytes: 1000 }, async (store) => expect(await numbersIn(store)).toEqual(numbers(0, 500)))
    expect(files('.zst')).toHaveLength(1)
  })

  test('during a removal, the rest is removed at the next start', async () => {
    await withStore({}, (store) => append(store, 0, 5))
    const aside = join(folder, 'removed-0123456789abcdef.tmp')
    writeFileSync(aside, 'left')
    await withStore({}, async (store) => {
      await store.tail('prj_a', 'runtime', { limit: 1 })
      for (let wait = 0; wait < 100 && readdirSync(folder).length > 1; wait++) await pause(5)
    })
    expect(readdirSync(folder)).toEqual(['prj_a'])
  })
})

test('a damaged block loses only its own lines, and is reported', async () => {
  await withStore({ segmentBytes: 500_000 }, async (store) => {
    await append(store, 0, 5000)
    await append(store, 5000, 5001)
  })
  const packed = files('.zst')[0]!
  const bytes = readFileSync(packed)
  bytes.fill(0x55, 200, 260)
  writeFileSync(packed, bytes)
  await withStore({}, async (store) => {
    const left = await numbersIn(store)
    expect(left.length).toBeGreaterThan(2500)
    expect(left.length).toBeLessThan(5001)
    expect(left.at(-1)).toBe(5000)
  })
  expect(errors.some((what) => what.includes('is damaged'))).toBe(true)
})

describe('with a read-only file system', () => {
  test('lines are buffered up to a limit, with a log line, and written later; dropped ones are counted in a line', async () => {
    await withStore({ maxPendingBytes: 50_000 }, async (store) => {
      expect(await numbersIn(store)).toEqual([])
      writeFileSync(join(folder, 'prj_a'), 'a file in the way')
      for (let at = 0; at < 2000; at += 10) await append(store, at, at + 10)
      await expect(store.flush()).rejects.toThrow()
      expect(errors.some((what) => what.includes('cannot be written'))).toBe(true)
      rmSync(join(folder, 'prj_a'))
      await store.flush()
      await append(store, 9999, 10_000)
      const entries = await store.tail('prj_a', 'runtime', { limit: 9999 })
      const dropped = entries.filter(({ message }) => message.includes('lines were dropped'))
      expect(dropped).toHaveLength(1)
      const count = Number(/\d+/.exec(dropped[0]!.message)![0])
      expect(entries.length - 2 + count).toBe(2000)
      expect(entries[0]!.message).toContain('line 0 ')
      expect(entries.at(-1)!.message).toContain('line 9999 ')
    })
  })
})
