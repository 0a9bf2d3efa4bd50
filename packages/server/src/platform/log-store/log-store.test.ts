import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, asyncProperty, string } from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { NewEntry } from './log-entry.ts'
import { createLogStore, type LogStore, type LogStoreSettings } from './log-store.ts'

let folder: string
let stores: LogStore[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-log-store-'))
})
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()))
  stores = []
  rmSync(folder, { recursive: true, force: true })
})

function openStore(settings: Partial<LogStoreSettings> = {}): LogStore {
  const store = createLogStore({ folder, flushMs: 5, ...settings })
  stores.push(store)
  return store
}

const line = (message: string, more: Partial<NewEntry<'runtime'>> = {}): NewEntry<'runtime'> => ({
  stream: 'stdout',
  service: null,
  deploymentId: null,
  message,
  ...more,
})
const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => line(`line ${from + at}`))
const request = (more: Partial<NewEntry<'requests'>>): NewEntry<'requests'> => ({
  ip: '192.0.2.1',
  method: 'GET',
  host: 'app.localhost',
  path: '/',
  status: 200,
  durationMs: 1.5,
  bytesIn: 10,
  bytesOut: 20,
  userAgent: 'curl/8',
  deploymentId: null,
  ...more,
})
const messages = (entries: { message: string }[]) => entries.map(({ message }) => message)

describe('tail', () => {
  test('returns the newest entries in order of time, including the one just appended', async () => {
    const store = openStore()
    await store.append('prj_a', 'runtime', lines(0, 10))
    expect(messages(await store.tail('prj_a', 'runtime', { limit: 3 }))).toEqual(['line 7', 'line 8', 'line 9'])
    expect(await store.tail('prj_a', 'runtime', { limit: 0 })).toEqual([])
  })

  test('an entry is read back with all fields', async () => {
    const store = openStore()
    const time = '2026-01-02T03:04:05.678Z'
    const owner = { environment: 'production', service: 'web', deploymentId: 'dep_1' }
    await store.append('prj_a', 'runtime', [line('hello', { time, ...owner, stream: 'stderr' })])
    expect(await store.tail('prj_a', 'runtime', { limit: 9 })).toEqual([
      { id: expect.stringMatching(/^\d{16}$/), time, stream: 'stderr', ...owner, message: 'hello' },
    ])
  })

  test('a project or kind without entries is empty', async () => {
    const store = openStore()
    await store.append('prj_a', 'runtime', lines(0, 1))
    expect(await store.tail('prj_b', 'runtime', { limit: 5 })).toEqual([])
    expect(await store.tail('prj_a', 'requests', { limit: 5 })).toEqual([])
  })

  test('since drops older entries, regardless of the order of arrival', async () => {
    const store = openStore()
    const at = (minute: number) => line(`minute ${minute}`, { time: new Date(Date.UTC(2026, 0, 1, 0, minute)) })
    await store.append('prj_a', 'runtime', [at(1), at(5), at(2), at(3)])
    const since = new Date(Date.UTC(2026, 0, 1, 0, 3))
    expect(messages(await store.tail('prj_a', 'runtime', { limit: 9, since }))).toEqual(['minute 5', 'minute 3'])
  })

  test('before pages back over many segments without loss or repetition', async () => {
    const store = openStore({ segmentBytes: 2000 })
    for (let at = 0; at < 500; at += 50) await store.append('prj_a', 'runtime', lines(at, at + 50))
    const seen: string[] = []
    for (let before: string | undefined; ; ) {
      const page = await store.tail('prj_a', 'runtime', { limit: 37, before })
      if (page.length === 0) break
      seen.unshift(...messages(page))
      before = page[0]!.id
    }
    expect(seen).toEqual(messages(lines(0, 500)))
  })

  test('any text is read back unchanged', async () => {
    const store = openStore()
    await assert(
      asyncProperty(string({ unit: 'binary', maxLength: 50 }), async (message) => {
        await store.append('prj_a', 'runtime', [line(message)])
        expect(messages(await store.tail('prj_a', 'runtime', { limit: 1 }))).toEqual([message])
      }),
      { numRuns: 25 },
    )
  })

  test('a long message is truncated at 16 KiB between two characters', async () => {
    const store = openStore()
    await store.append('prj_a', 'runtime', [line('x'.repeat(16_384)), line('€'.repeat(10_000)), line('after')])
    const [whole, cut, next] = messages(await store.tail('prj_a', 'runtime', { limit: 3 }))
    expect(whole).toHaveLength(16_384)
    expect(cut).toMatch(/^€+… \[cut: 30000 bytes in all\]$/)
    expect(Buffer.byteLength(cut!)).toBeLessThan(16_384 + 40)
    expect(next).toBe('after')
  })
})

describe('filters', () => {
  test('q matches a part of the message in any case, and no other field', async () => {
    const store = openStore({ segmentBytes: 2000 })
    const texts = ['Started "web"', 'error: Disk Full', 'id time stream', 'tab\there', ...messages(lines(0, 100))]
    for (const text of texts) await store.append('prj_a', 'runtime', [line(text, { service: 'worker' })])
    const find = async (q: string) => messages(await store.tail('prj_a', 'runtime', { limit: 500, filter: { q } }))
    expect(await find('disk full')).toEqual(['error: Disk Full'])
    expect(await find('"WEB"')).toEqual(['Started "web"'])
    expect(await find('tab\th')).toEqual(['tab\there'])
    expect(await find('worker')).toEqual([])
    expect(await find('line 7')).toHaveLength(11)
  })

  test('service and deployment match exactly', async () => {
    const store = openStore()
    await store.append('prj_a', 'runtime', [
      line('one', { service: 'web', deploymentId: 'dep_1' }),
      line('two', { service: 'worker', deploymentId: 'dep_1' }),
      line('three "service":"web"', { service: 'webs', deploymentId: 'dep_2' }),
    ])
    const find = async (filter: object) => messages(await store.tail('prj_a', 'runtime', { limit: 9, filter }))
    expect(await find({ service: 'web' })).toEqual(['one'])
    expect(await find({ deployment: 'dep_1' })).toEqual(['one', 'two'])
    expect(await find({ deployment: 'dep_1', service: 'worker', q: 'tw' })).toEqual(['two'])
  })

  test('requests: status, method, path and q', async () => {
    const store = openStore()
    await store.append('prj_a', 'requests', [
      request({ path: '/a', status: 200 }),
      request({ path: '/api/b', status: 404, method: 'POST' }),
      request({ path: '/api/c', status: 500, userAgent: 'Firefox' }),
      request({ path: '/api/d', status: 503, method: 'DELETE', durationMs: 404 }),
    ])
    const find = async (filter: object) => (await store.tail('prj_a', 'requests', { limit: 9, filter })).map(({ path }) => path)
    expect(await find({ status: '404' })).toEqual(['/api/b'])
    expect(await find({ status: '5xx' })).toEqual(['/api/c', '/api/d'])
    expect(await find({ status: '404,503' })).toEqual(['/api/b', '/api/d'])
    expect(await find({ method: 'post' })).toEqual(['/api/b'])
    expect(await find({ method: 'POST,DELETE' })).toEqual(['/api/b', '/api/d'])
    expect(await find({ path: '/api' })).toEqual(['/api/b', '/api/c', '/api/d'])
    expect(await find({ q: 'firefox' })).toEqual(['/api/c'])
    expect(await find({ status: 'nonsense' })).toEqual([])
  })

  test('deployment logs of one deployment, oldest first, page by page', async () => {
    const store = openStore({ segmentBytes: 2000 })
    for (let at = 0; at < 300; at++) {
      const deploymentId = `dep_${Math.floor(at / 100)}`
      await store.append('prj_a', 'deployments', [{ deploymentId, step: 'build', stream: 'stdout', message: `line ${at}` }])
    }
    const found: string[] = []
    for await (const entry of store.read('prj_a', 'deployments', { filter: { deployment: 'dep_1' } })) found.push(entry.message)
    expect(found).toEqual(messages(lines(100, 200)))
  })
})

describe('ids', () => {
  test('increase with every entry, also after a restart, with the clock set back and without files', async () => {
    const ids: string[] = []
    let clock = Date.UTC(2026, 0, 1)
    const append = async () => {
      const store = createLogStore({ folder, now: () => clock })
      await store.append('prj_a', 'runtime', lines(0, 100))
      ids.push(...(await store.tail('prj_a', 'runtime', { limit: 100 })).map(({ id }) => id))
      await store.close()
    }
    await append()
    await append()
    clock -= 3_600_000
    await append()
    rmSync(join(folder, 'prj_a'), { recursive: true })
    clock += 7_200_000
    await append()
    expect(ids).toHaveLength(400)
    expect(new Set(ids).size).toBe(400)
    expect([...ids].sort()).toEqual(ids)
  })

  test('an invalid id is refused', async () => {
    const store = openStore()
    await expect(store.tail('prj_a', 'runtime', { limit: 1, before: '../x' })).rejects.toThrow(RangeError)
    expect(() => store.read('prj_a', 'runtime', { afterId: '12' })).toThrow(RangeError)
    expect(() => store.follow('prj_a', 'runtime', { afterId: '12' }, new AbortController().signal)).toThrow(RangeError)
  })

  test.each(['../escape', 'a/b', '', '.', '..', 'a\0b', '-rf', 'x'.repeat(65)])('%j is refused as a project id', async (id) => {
    const store = openStore()
    await expect(store.append(id, 'runtime', lines(0, 1))).rejects.toThrow('Invalid project id')
    await expect(store.remove(id)).rejects.toThrow('Invalid project id')
  })
})

test('many projects share few open files, and none loses a line', async () => {
  const store = openStore({ maxOpenStreams: 3 })
  for (let round = 0; round < 5; round++) {
    await Promise.all(
      Array.from({ length: 20 }, (_, at) => store.append(`prj_${at}`, 'runtime', lines(round * 10, round * 10 + 10))),
    )
  }
  for (let at = 0; at < 20; at++) {
    expect(messages(await store.tail(`prj_${at}`, 'runtime', { limit: 99 }))).toEqual(messages(lines(0, 50)))
  }
})

test('appends that are not awaited keep their order', async () => {
  const store = openStore()
  const appends = Array.from({ length: 200 }, (_, at) => store.append('prj_a', 'runtime', lines(at, at + 1)))
  await Promise.all(appends)
  expect(messages(await store.tail('prj_a', 'runtime', { limit: 999 }))).toEqual(messages(lines(0, 200)))
})

test('a closed store refuses entries', async () => {
  const store = openStore()
  await store.close()
  await expect(store.append('prj_a', 'runtime', lines(0, 1))).rejects.toThrow('closed')
})
