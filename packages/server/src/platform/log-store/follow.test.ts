import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createLogStore, type LogStore } from './log-store.ts'

let folder: string
let store: LogStore
let abort: AbortController
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-log-follow-'))
  store = createLogStore({ folder, flushMs: 2, segmentBytes: 3000 })
  abort = new AbortController()
})
afterEach(async () => {
  abort.abort()
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

const append = (from: number, to: number) =>
  store.append(
    'prj_a',
    'runtime',
    Array.from({ length: to - from }, (_, at) => ({
      stream: 'stdout' as const,
      service: (from + at) % 2 ? 'web' : 'worker',
      deploymentId: null,
      message: `line ${from + at}`,
    })),
  )
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `line ${from + at}`)

/** Reads a number of entries, then stops like a client that disconnects. */
async function take(count: number, options: Parameters<LogStore['follow']>[2], slowMs = 0) {
  const taken: { id: string; message: string }[] = []
  for await (const { id, message } of store.follow('prj_a', 'runtime', options, abort.signal)) {
    if (slowMs) await pause(slowMs)
    if (taken.push({ id, message }) >= count) break
  }
  return taken
}

describe('follow', () => {
  test('without an id returns new lines only', async () => {
    await append(0, 10)
    const taking = take(5, {})
    await pause(20)
    await append(10, 20)
    expect((await taking).map(({ message }) => message)).toEqual(numbered(10, 15))
  })

  test('with a tail returns it and then new lines, without a gap or repetition', async () => {
    let stop = false
    const writing = (async () => {
      for (let at = 0; !stop; at += 10) {
        await append(at, at + 10)
        if (at % 100 === 0) await pause(1)
      }
    })()
    await pause(20)
    for (let round = 0; round < 10; round++) {
      const numbers = (await take(60, { tail: 25 })).map(({ message }) => Number(message.split(' ')[1]))
      expect(numbers).toEqual(Array.from({ length: 60 }, (_, at) => numbers[0]! + at))
    }
    stop = true
    await writing
  })

  test('resuming by the last id loses and repeats no line, while lines arrive and segments close', async () => {
    const total = 3000
    const writing = (async () => {
      for (let at = 0; at < total; at += 10) {
        await append(at, at + 10)
        if (at % 200 === 0) await pause(1)
      }
    })()
    const seen: string[] = []
    let afterId = '0'.repeat(16)
    while (seen.length < total) {
      const taken = await take(Math.min(total - seen.length, 1 + ((seen.length * 7) % 400)), { afterId })
      seen.push(...taken.map(({ message }) => message))
      afterId = taken.at(-1)!.id
    }
    await writing
    expect(seen).toEqual(numbered(0, total))
  })

  test('a reader slower than the writer still gets every line', async () => {
    const taking = take(40, {}, 3)
    await pause(10)
    for (let at = 0; at < 400; at += 20) await append(at, at + 20)
    expect((await taking).map(({ message }) => message)).toEqual(numbered(0, 40))
  })

  test('filters also apply to closed segments', async () => {
    await append(0, 200)
    const taken = await take(100, { afterId: '0'.repeat(16), filter: { service: 'web' } })
    expect(taken.map(({ message }) => message)).toEqual(numbered(0, 200).filter((_, at) => at % 2))
  })

  test('an id of the future, as of another instance, waits only for the next line', async () => {
    await append(0, 3)
    const taking = take(1, { afterId: '9'.repeat(15).padStart(16, '8') })
    await pause(20)
    await append(3, 4)
    expect((await taking)[0]!.message).toBe('line 3')
  })

  test('abort ends it at once', async () => {
    const taking = take(1, {})
    await pause(10)
    abort.abort()
    expect(await taking).toEqual([])
  })

  test('closing the store returns the last lines and ends it', async () => {
    const taking = take(1000, {})
    await pause(10)
    await append(0, 7)
    await store.close()
    expect((await taking).map(({ message }) => message)).toEqual(numbered(0, 7))
  })

  test('many followers get the same', async () => {
    const taking = Array.from({ length: 20 }, () => take(50, {}))
    await pause(10)
    await append(0, 50)
    for (const taken of await Promise.all(taking)) expect(taken.map(({ message }) => message)).toEqual(numbered(0, 50))
  })
})

describe('remove', () => {
  test('ends followers, leaves no file, and the project can log again', async () => {
    await append(0, 300)
    const taking = take(1000, {})
    await pause(10)
    await store.remove('prj_a')
    expect(await taking).toEqual([])
    expect(existsSync(join(folder, 'prj_a'))).toBe(false)
    expect(await store.tail('prj_a', 'runtime', { limit: 9 })).toEqual([])
    await append(0, 2)
    expect(await store.tail('prj_a', 'runtime', { limit: 9 })).toHaveLength(2)
  })

  test('of an unknown project succeeds', async () => {
    await store.remove('prj_none')
  })

  test('while lines arrive leaves either nothing or only later lines', async () => {
    await append(0, 100)
    const work = Promise.all([append(100, 200), store.remove('prj_a'), append(200, 210)])
    await work
    const left = (await store.tail('prj_a', 'runtime', { limit: 999 })).map(({ message }) => message)
    expect(numbered(200, 210)).toEqual(left)
  })
})
