import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ArchiveStore } from './archive-store.ts'
import { StoreFailure } from './store-failure.ts'

/** An implementation under test. */
export interface Bench {
  store: ArchiveStore
  /** Removes everything that the suite created. */
  cleanUp(): Promise<void>
}

export const neverAborted = new AbortController().signal
/** Larger than one part of a multipart upload, and not a multiple of any block size. */
const large = randomBytes(11 * 1024 * 1024 + 77)

/** Checks the guarantees in the comments of `ArchiveStore`, on any implementation. */
export function archiveStoreSuite(prepare: () => Promise<Bench>): void {
  let bench: Bench
  let store: ArchiveStore
  beforeAll(async () => {
    bench = await prepare()
    store = bench.store
  })
  afterAll(async () => {
    await store?.close()
    await bench?.cleanUp()
  })

  test('a check succeeds and leaves no file', async () => {
    await store.check(neverAborted)
    expect(await namesIn(store, '')).toEqual([])
  })

  test('content of any size is read back byte for byte', async () => {
    for (const content of [Buffer.alloc(0), Buffer.from('one'), randomBytes(300_000), large]) {
      expect(await store.put('round/trip', chunksOf(content), neverAborted)).toEqual({ sizeBytes: content.length })
      expect(await store.size('round/trip', neverAborted)).toBe(content.length)
      expect(sha256(await readAll(store.get('round/trip', neverAborted)))).toBe(sha256(content))
    }
    await store.remove('round/trip', neverAborted)
  })

  test('a read can begin in the middle', async () => {
    await store.put('middle', chunksOf(large), neverAborted)
    const from = 5 * 1024 * 1024 + 3
    expect(sha256(await readAll(store.get('middle', neverAborted, { from })))).toBe(sha256(large.subarray(from)))
    await store.remove('middle', neverAborted)
  })

  test('a missing object has no size, fails as missing when read, and can be removed', async () => {
    expect(await store.size('not/there', neverAborted)).toBeUndefined()
    await expect(readAll(store.get('not/there', neverAborted))).rejects.toMatchObject({ name: 'StoreFailure', reason: 'missing' })
    await store.remove('not/there', neverAborted)
  })

  test('names are listed below a prefix with size and time, and are gone once removed', async () => {
    const names = ['list/a/1', 'list/a/2', 'list/ab/3', 'list/4']
    for (const name of names) await store.put(name, chunksOf(Buffer.from(name)), neverAborted)
    expect(await namesIn(store, 'list/')).toEqual([...names].sort())
    expect(await namesIn(store, 'list/a/')).toEqual(['list/a/1', 'list/a/2'])
    expect(await namesIn(store, 'nothing/')).toEqual([])
    for await (const one of store.list('list/', neverAborted)) {
      expect(one.sizeBytes).toBe(one.name.length)
      expect(Math.abs(Date.now() - Date.parse(one.modifiedAt))).toBeLessThan(3_600_000)
    }
    for (const name of names) await store.remove(name, neverAborted)
    expect(await namesIn(store, '')).toEqual([])
  })

  test('a second put of a name replaces the first', async () => {
    await store.put('twice', chunksOf(randomBytes(100_000)), neverAborted)
    await store.put('twice', chunksOf(Buffer.from('second')), neverAborted)
    expect(String(await readAll(store.get('twice', neverAborted)))).toBe('second')
    await store.remove('twice', neverAborted)
  })

  test('content that fails half-way leaves the stored object unchanged, and its error is reported', async () => {
    await store.put('half', chunksOf(Buffer.from('old')), neverAborted)
    await expect(store.put('half', failing(), neverAborted)).rejects.toThrow('the dump broke')
    await expect(store.put('half-new', failing(), neverAborted)).rejects.toThrow('the dump broke')
    expect(String(await readAll(store.get('half', neverAborted)))).toBe('old')
    expect(await namesIn(store, '')).toEqual(['half'])
    await store.remove('half', neverAborted)
    expect(await store.removeUnfinished(new Date(Date.now() + 3_600_000), neverAborted)).toBe(0)
  })

  test('a put that is aborted stops with the reason and stores nothing', async () => {
    const stop = new AbortController()
    const content = async function* () {
      yield large.subarray(0, 6 * 1024 * 1024)
      stop.abort(new Error('enough'))
      yield large.subarray(6 * 1024 * 1024)
    }
    await expect(store.put('aborted', content(), stop.signal)).rejects.toThrow('enough')
    expect(await store.size('aborted', neverAborted)).toBeUndefined()
    expect(await store.removeUnfinished(new Date(Date.now() + 3_600_000), neverAborted)).toBe(0)
  })

  test('a get that is aborted stops with the reason', async () => {
    await store.put('long', chunksOf(large), neverAborted)
    const stop = new AbortController()
    const reading = async () => {
      for await (const _chunk of store.get('long', stop.signal)) stop.abort(new Error('enough'))
    }
    await expect(reading()).rejects.toThrow('enough')
    await store.remove('long', neverAborted)
  })

  test('a read that is stopped early releases its connection, and the next one works', async () => {
    await store.put('left', chunksOf(large), neverAborted)
    for (let times = 0; times < 5; times += 1) for await (const _chunk of store.get('left', neverAborted)) break
    expect((await readAll(store.get('left', neverAborted))).length).toBe(large.length)
    await store.remove('left', neverAborted)
  })

  test('many concurrent puts and reads do not mix', async () => {
    const contents = Array.from({ length: 12 }, () => randomBytes(200_000))
    await Promise.all(contents.map((content, at) => store.put(`many/${at}`, chunksOf(content), neverAborted)))
    const read = await Promise.all(contents.map((_content, at) => readAll(store.get(`many/${at}`, neverAborted))))
    expect(read.map(sha256)).toEqual(contents.map(sha256))
    await Promise.all(contents.map((_content, at) => store.remove(`many/${at}`, neverAborted)))
  })

  test.each(['', '/etc/passwd', '../up', 'a/../b', 'a//b', '.hidden', 'a/.b', 'a/', 'nul\0', 'ümlaut', 'x'.repeat(300)])(
    'the name %j is refused everywhere',
    async (name) => {
      await expect(store.put(name, chunksOf(Buffer.from('x')), neverAborted)).rejects.toBeInstanceOf(StoreFailure)
      await expect(readAll(store.get(name, neverAborted))).rejects.toBeInstanceOf(StoreFailure)
      await expect(store.remove(name, neverAborted)).rejects.toBeInstanceOf(StoreFailure)
      await expect(store.size(name, neverAborted)).rejects.toBeInstanceOf(StoreFailure)
    },
  )
}

export async function* chunksOf(content: Uint8Array, size = 100_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size)
}

async function* failing(): AsyncGenerator<Uint8Array> {
  yield large.subarray(0, 7 * 1024 * 1024)
  throw new Error('the dump broke')
}

export async function readAll(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of content) chunks.push(chunk)
  return Buffer.concat(chunks)
}

export async function namesIn(store: ArchiveStore, prefix: string): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of store.list(prefix, neverAborted)) names.push(name)
  return names.sort()
}

const sha256 = (content: Uint8Array) => createHash('sha256').update(content).digest('hex')
