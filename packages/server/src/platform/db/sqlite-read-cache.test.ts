import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SqliteFile } from './sqlite-file.ts'
import { SqliteReadCache } from './sqlite-read-cache.ts'

let folder: string
let writer: SqliteFile
let reader: SqliteFile
let cache: SqliteReadCache
const all = 'select value from things where id <> ?'
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-cache-'))
  const file = join(folder, 'things.db')
  writer = new SqliteFile(file, { readOnly: false, afterRun: () => cache?.drop() })
  writer.run('create table things (id text, value text)', [])
  writer.run("insert into things values ('a', 'one')", [])
  reader = new SqliteFile(file, { readOnly: true })
  cache = new SqliteReadCache(reader)
})
afterEach(() => {
  reader.close()
  writer.close()
  rmSync(folder, { recursive: true })
})

test('the same read returns the same rows, and callers cannot change them', () => {
  const rows = cache.read(all, ['x'])
  expect(rows).toEqual([{ value: 'one' }])
  expect(cache.read(all, ['x'])).toBe(rows)
  expect(() => Object.assign(rows[0] as object, { value: 'two' })).toThrow(TypeError)
})

test('other parameters, also the same text as a number, are separate reads', () => {
  cache.read('select ? as value', ['1'])
  expect(cache.read('select ? as value', [1])).toEqual([{ value: 1 }])
  expect(cache.read(all, ['a'])).toEqual([])
})

test('a read is identified by all parameters in their order', () => {
  const pairs = 'select ? as first, ? as second'
  for (const [first, second] of [
    ['a', 'b'],
    ['b', 'a'],
    ['a\nb', ''],
    ['a', null],
    ['a', 0],
  ] as const)
    expect(cache.read(pairs, [first, second])).toEqual([{ first, second }])
  expect(cache.read(pairs, ['a', 'b'])).toBe(cache.read(pairs, ['a', 'b']))
})

test('a write is seen by the next read, inside a transaction only after its commit', () => {
  expect(cache.read(all, ['x'])).toHaveLength(1)
  writer.run('begin immediate', [])
  writer.run("insert into things values ('b', 'two')", [])
  expect(cache.read(all, ['x'])).toHaveLength(1)
  writer.run('commit', [])
  expect(cache.read(all, ['x'])).toHaveLength(2)
})

test('a commit of another process is seen in the next event loop turn', async () => {
  const other = new SqliteFile(join(folder, 'things.db'), { readOnly: false })
  cache.read(all, ['x'])
  await nextTurn()
  other.run("insert into things values ('c', 'three')", [])
  other.close()
  await nextTurn()
  expect(cache.read(all, ['x'])).toHaveLength(2)
})

test('the size of the cache is limited', () => {
  const first = cache.read(all, ['x'])
  for (let at = 0; at < 20_000; at++) cache.read('select ? as value', [at])
  expect(cache.read(all, ['x'])).not.toBe(first)
})
