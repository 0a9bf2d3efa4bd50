import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LastCommitReader } from './last-commit-reader.ts'
import { SqliteFile } from './sqlite-file.ts'
import { SqliteReadCache } from './sqlite-read-cache.ts'

let folder: string
let writer: SqliteFile
let reader: SqliteFile
/** The connection of another process. */
let other: SqliteFile
let cache: SqliteReadCache
let fromFile: number
const all = 'select * from things order by id'
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-transaction-reads-'))
  const file = join(folder, 'things.db')
  fromFile = 0
  writer = new SqliteFile(file, { readOnly: false, afterRun: (sql) => cache?.noteWrite(sql) })
  writer.run('create table things (id text)', [])
  writer.run('create table others (id text)', [])
  other = new SqliteFile(file, { readOnly: false })
  reader = new SqliteFile(file, { readOnly: true })
  cache = new SqliteReadCache(new LastCommitReader(reader, writer), writer)
})
afterEach(() => {
  for (const file of [reader, other, writer]) file.close()
  rmSync(folder, { recursive: true })
})

const outside = () => cache.read(all, []).map(({ id }) => id)
const inside = () =>
  cache
    .readInTransaction(all, [], () => {
      fromFile += 1
      return writer.run(all, []).rows
    })
    .map(({ id }) => id)

test('a transaction takes kept rows until it changes their table, and does not keep what it read afterwards', () => {
  writer.run("insert into things values ('a')", [])
  expect(outside()).toEqual(['a'])
  writer.run('begin immediate', [])
  writer.run("insert into others values ('x')", [])
  expect([inside(), fromFile]).toEqual([['a'], 0])
  writer.run("insert into things values ('b')", [])
  expect(outside()).toEqual(['a'])
  expect([inside(), fromFile]).toEqual([['a', 'b'], 1])
  expect(outside()).toEqual(['a'])
  writer.run('rollback', [])
  expect(outside()).toEqual(['a'])
  writer.run('begin immediate', [])
  expect([inside(), fromFile]).toEqual([['a'], 1])
  writer.run('commit', [])
})

test('a commit of another process between the last check and the begin of the transaction is seen in it', () => {
  expect(outside()).toEqual([])
  other.run("insert into things values ('a')", [])
  writer.run('begin immediate', [])
  expect(inside()).toEqual(['a'])
  writer.run('commit', [])
})

test('a change that a savepoint took back is not read, and rows that were kept before it are asked for again', () => {
  expect(outside()).toEqual([])
  writer.run('begin immediate', [])
  writer.run('savepoint member', [])
  writer.run("insert into things values ('a')", [])
  expect(inside()).toEqual(['a'])
  writer.run('rollback to member', [])
  writer.run('release member', [])
  expect(inside()).toEqual([])
  writer.run('commit', [])
  expect(outside()).toEqual([])
})

test('after a change of the schema every read of the transaction asks the database', () => {
  expect(outside()).toEqual([])
  writer.run('begin immediate', [])
  writer.run('alter table things add column value text', [])
  writer.run("insert into things values ('a', 'one')", [])
  expect(inside()).toEqual(['a'])
  writer.run('commit', [])
  expect(outside()).toEqual(['a'])
})
