import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bytesRead } from '../../../../../tests/kit/count-work.ts'
import { createLogStore, type LogStore } from './log-store.ts'

const total = 100_000
let folder: string
let lineBytes = 0
const textOf = (number: number) => `GET /items/${number % 977} answered 200 in ${(number * 7) % 250} ms, request ${number}`

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-log-many-'))
  await withStore(async (store) => {
    await appendAll(store, 'prj_a')
    const [last] = await store.tail('prj_a', 'runtime', { limit: 1 })
    lineBytes = JSON.stringify(last).length + 1
  })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function appendAll(store: LogStore, projectId: string): Promise<void> {
  for (let at = 0; at < total; at += 100) {
    const deploymentId = `dep_${Math.floor(at / 10_000)}`
    const entries = Array.from({ length: 100 }, (_, more) => ({
      stream: 'stdout' as const,
      service: 'web',
      deploymentId,
      message: textOf(at + more),
    }))
    await store.append(projectId, 'runtime', entries)
  }
}

async function withStore<T>(work: (store: LogStore) => Promise<T>): Promise<T> {
  const store = createLogStore({ folder })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

test('no line of 100,000 is lost, and a tail of 200 reads a small part of the files', async () => {
  let count = 0
  const whole = await bytesRead(() =>
    withStore(async (store) => {
      for await (const { message } of store.read('prj_a', 'runtime')) if (message === textOf(count)) count++
    }),
  )
  expect(count).toBe(total)
  let messages: string[] = []
  const tail = await bytesRead(() =>
    withStore(async (store) => {
      messages = (await store.tail('prj_a', 'runtime', { limit: 200 })).map(({ message }) => message)
    }),
  )
  expect(messages).toEqual(Array.from({ length: 200 }, (_, at) => textOf(total - 200 + at)))
  expect(tail / whole).toBeLessThan(0.1)
})

test('they use less than a third of their size on the disk', () => {
  const stream = join(folder, 'prj_a', 'runtime')
  const bytes = readdirSync(stream).reduce((sum, name) => sum + statSync(join(stream, name)).size, 0)
  expect(bytes / (total * lineBytes)).toBeLessThan(1 / 3)
})

test('resuming in the middle does not scan from the beginning', async () => {
  await withStore(async (store) => {
    const page = await store.tail('prj_a', 'runtime', { limit: 10, filter: { q: 'request 70000' } })
    expect(page).toHaveLength(1)
    const found: string[] = []
    for await (const { message } of store.read('prj_a', 'runtime', { afterId: page[0]!.id })) {
      if (found.push(message) === 3) break
    }
    expect(found).toEqual([70_001, 70_002, 70_003].map(textOf))
  })
})

test('all lines of one deployment of ten are found', async () => {
  const entries = await withStore((store) => store.tail('prj_a', 'runtime', { limit: total, filter: { deployment: 'dep_4' } }))
  expect(entries).toHaveLength(10_000)
  expect(entries[0]!.message).toBe(textOf(40_000))
})

test('an open store keeps no appended lines in memory', async () => {
  const before = heapAfterCollection()
  await withStore(async (store) => {
    await appendAll(store, 'prj_b')
    await store.flush()
    let count = 0
    for await (const _ of store.read('prj_b', 'runtime')) count++
    expect(count).toBe(total)
    expect((heapAfterCollection() - before) / (total * lineBytes)).toBeLessThan(0.25)
  })
})

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
function heapAfterCollection(): number {
  collect()
  return process.memoryUsage().heapUsed
}
