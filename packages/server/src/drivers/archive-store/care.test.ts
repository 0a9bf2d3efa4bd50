import { randomBytes } from 'node:crypto'
import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type TempFolder, tempFolder } from '../../../../../tests/kit/temp-folder.ts'
import { silentLog } from '../../platform/log.ts'
import type { ArchiveStore } from './archive-store.ts'
import { createArchiveStores } from './create-archive-stores.ts'
import { inMemoryContent } from './in-memory.ts'
import { StoreFailure } from './store-failure.ts'
import { chunksOf, namesIn, neverAborted, readAll } from './suite.ts'
import { FaultyLocation } from './test-faults.ts'
import { withTimeLimit } from './with-time-limit.ts'

let folder: TempFolder
let location: FaultyLocation
let store: ArchiveStore
const bytes = randomBytes(700_000)

beforeEach(async () => {
  folder = await tempFolder('care')
  location = new FaultyLocation()
  store = await open(60_000)
})
afterEach(() => folder.remove())

function open(silentMs: number): Promise<ArchiveStore> {
  const care = { log: silentLog, allowPrivate: true, attempts: 3, firstPauseMs: 1, silentMs, wrap: location.around }
  return createArchiveStores(care).open({ kind: 'local', root: folder.path, path: folder.path })
}

test('a temporary error is retried, and a lasting one is reported after the last attempt', async () => {
  location.arm({ fault: 'server_error', on: 'put', times: 2 })
  await store.put('a', inMemoryContent(bytes), neverAborted)
  expect(location.hits.length).toBe(2)
  for (const on of ['size', 'list', 'remove'] as const) location.arm({ fault: 'server_error', on, times: 2 })
  expect(await store.size('a', neverAborted)).toBe(bytes.length)
  expect(await namesIn(store, '')).toEqual(['a'])
  location.disarm()
  location.arm({ fault: 'server_error', on: 'get' })
  await expect(readAll(store.get('a', neverAborted))).rejects.toMatchObject({ reason: 'unreachable' })
  expect(location.hits.filter((hit) => hit.startsWith('get')).length).toBe(3)
})

test('a refused request is reported at once, without a retry', async () => {
  for (const [fault, on] of [
    ['denied', 'put'],
    ['full', 'put'],
  ] as const) {
    location.disarm()
    location.hits.length = 0
    location.arm({ fault, on })
    await expect(store.put('a', inMemoryContent(bytes), neverAborted)).rejects.toMatchObject({ reason: fault })
    expect(location.hits.length).toBe(1)
  }
})

test('content that can be read only once is not sent twice: an error after its start is reported', async () => {
  let begun = 0
  const content = async function* () {
    begun += 1
    yield* chunksOf(bytes)
  }
  location.arm({ fault: 'server_error', on: 'put', times: 1 })
  await store.put('early', content(), neverAborted)
  expect(begun).toBe(1)
  const broken = async function* () {
    yield bytes
    throw new Error('the dump broke')
  }
  await expect(store.put('late', broken(), neverAborted)).rejects.toThrow('the dump broke')
})

test('a destination that stops answering times out, in every call', async () => {
  await store.put('a', inMemoryContent(bytes), neverAborted)
  store = await open(300)
  for (const on of ['put', 'get', 'size', 'list', 'remove'] as const) location.arm({ fault: 'hang', on })
  await expect(store.put('b', chunksOf(bytes), neverAborted)).rejects.toMatchObject({ reason: 'timeout' })
  await expect(readAll(store.get('a', neverAborted))).rejects.toMatchObject({ reason: 'timeout' })
  await expect(store.size('a', neverAborted)).rejects.toMatchObject({ reason: 'timeout' })
  await expect(namesIn(store, '')).rejects.toMatchObject({ reason: 'timeout' })
  await expect(store.remove('a', neverAborted)).rejects.toMatchObject({ reason: 'timeout' })
})

test('a destination that transfers less than 64 KB within the limit times out', async () => {
  async function* drops(): AsyncGenerator<Uint8Array> {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      yield Uint8Array.of(1)
    }
  }
  const dripping = {
    ...store,
    get: drops,
    put: async (_name: string, content: AsyncIterable<Uint8Array>) => {
      let sizeBytes = 0
      for await (const chunk of content) {
        sizeBytes += chunk.length
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      return { sizeBytes }
    },
  }
  const limited = withTimeLimit(dripping, 300)
  await expect(readAll(limited.get('a', neverAborted))).rejects.toMatchObject({ reason: 'timeout' })
  await expect(limited.put('a', drops(), neverAborted)).rejects.toMatchObject({ reason: 'timeout' })
})

test('slow content does not count against the time limit of the destination', async () => {
  store = await open(1_000)
  const slow = async function* () {
    yield bytes
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    yield bytes
  }
  expect(await store.put('slow', slow(), neverAborted)).toEqual({ sizeBytes: 2 * bytes.length })
})

test('a check detects a destination that confirms a write and stores nothing or something else', async () => {
  const { checkByRoundTrip } = await import('./check-by-round-trip.ts')
  for (const [fault, on] of [
    ['lies', 'put'],
    ['short_write', 'put'],
    ['flipped_byte', 'get'],
    ['truncated_read', 'get'],
  ] as const) {
    location.disarm()
    location.arm({ fault, on })
    await expect(checkByRoundTrip(store, neverAborted)).rejects.toMatchObject({ name: 'StoreFailure' })
    location.disarm()
    expect(await namesIn(store, '')).toEqual([])
  }
})

test('a check removes its file if the write got no answer, and files of an earlier interrupted check', async () => {
  const { checkByRoundTrip } = await import('./check-by-round-trip.ts')
  const unanswered: ArchiveStore = {
    ...store,
    async put(name, content, abort) {
      await store.put(name, content, abort)
      throw new StoreFailure('timeout', 'Nothing came for 300 s')
    },
  }
  await expect(checkByRoundTrip(unanswered, neverAborted)).rejects.toMatchObject({ reason: 'timeout' })
  expect(await namesIn(store, '')).toEqual([])
  for (const name of ['berth-check/old', 'berth-check/new', 'runs/old'])
    await store.put(name, inMemoryContent(bytes), neverAborted)
  const yesterday = Date.now() / 1000 - 86_400
  for (const name of ['berth-check/old', 'runs/old']) await utimes(join(folder.path, name), yesterday, yesterday)
  await store.check(neverAborted)
  expect(await namesIn(store, '')).toEqual(['berth-check/new', 'runs/old'])
})
