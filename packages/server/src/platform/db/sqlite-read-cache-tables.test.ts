import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextEvent } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { SqliteFile } from './sqlite-file.ts'
import { SqliteReadCache } from './sqlite-read-cache.ts'

let folder: string
let writer: SqliteFile
let reader: SqliteFile
let cache: SqliteReadCache | undefined
let queries: number
const file = () => join(folder, 'things.db')
beforeEach(() => {
  cache = undefined
  folder = mkdtempSync(join(tmpdir(), 'berth-cache-'))
  writer = new SqliteFile(file(), { readOnly: false, afterRun: (sql) => cache?.noteWrite(sql) })
  writer.run('create table "parents" (id text primary key, value text)', [])
  writer.run('create table "children" (id text primary key, parent text references "parents" (id) on delete cascade)', [])
  writer.run('create table "others" (id text primary key)', [])
  writer.run(`insert into "parents" values ('a', 'one'), ('b', 'two')`, [])
  writer.run(`insert into "children" values ('c', 'a')`, [])
  queries = 0
  reader = new SqliteFile(file(), { readOnly: true, afterRun: count })
  cache = new SqliteReadCache(reader, writer)
})
afterEach(() => {
  reader.close()
  writer.close()
  rmSync(folder, { recursive: true })
})

function count(sql: string): void {
  if (sql.includes('order by')) queries += 1
}

const parents = () => cache!.read('select * from "parents" order by id', [])
const children = () => cache!.read('select * from "children" order by id', [])

test('a write to another table keeps a cached read; a write to its table does not, and unchanged rows are the same objects', async () => {
  const rows = parents()
  writer.run(`insert into "others" values ('x')`, [])
  await nextEvent()
  expect(parents()).toBe(rows)
  expect(queries).toBe(1)
  writer.run(`update "parents" set value = 'three' where id = 'b'`, [])
  expect(parents()).toEqual([
    { id: 'a', value: 'one' },
    { id: 'b', value: 'three' },
  ])
  expect(parents()[0]).toBe(rows[0])
  writer.run(`update "parents" set value = value`, [])
  const same = parents()
  expect([parents() === same, queries]).toEqual([true, 3])
})

test('a row inserted before others leaves them the same objects', () => {
  const [first] = parents()
  writer.run(`insert into "parents" values ('0', 'zero')`, [])
  expect(parents()[1]).toBe(first)
})

test('rows removed by a foreign key are missing in the next read', () => {
  expect(children()).toHaveLength(1)
  writer.run(`delete from "parents" where id = 'a'`, [])
  expect(children()).toEqual([])
})

test('a read between a write and its commit is not cached past the commit', () => {
  writer.run('begin immediate', [])
  writer.run(`update "parents" set value = 'later'`, [])
  expect(parents()[0]).toMatchObject({ value: 'one' })
  writer.run('commit', [])
  expect(parents()[0]).toMatchObject({ value: 'later' })
})

test('a commit of another process is seen from the next event on, also a new column or table', async () => {
  const other = new SqliteFile(file(), { readOnly: false })
  parents()
  for (const statement of [
    `insert into "parents" values ('z', 'last')`,
    'alter table "parents" add column more text',
    'create table "news" (id text primary key references "parents" (id) on delete cascade)',
    `insert into "news" values ('z')`,
    `update "parents" set more = 'x'`,
  ]) {
    other.run(statement, [])
    await nextEvent()
    expect(parents()).toEqual(other.run('select * from "parents" order by id', []).rows)
  }
  const news = () => cache!.read('select * from "news" order by id', [])
  expect(news()).toHaveLength(1)
  writer.run(`delete from "parents" where id = 'z'`, [])
  expect(news()).toEqual([])
  other.close()
})

test('a table created in a transaction is tracked from its commit on', () => {
  const made = () => cache!.read('select * from "made" order by id', [])
  writer.run('begin immediate', [])
  writer.run('create table "made" (id text)', [])
  parents()
  writer.run('commit', [])
  expect(made()).toEqual([])
  writer.run(`insert into "made" values ('x')`, [])
  expect(made()).toEqual([{ id: 'x' }])
})

test('with a trigger or a view, every write invalidates every table', async () => {
  writer.run(`create trigger copied after insert on "others" begin insert into "parents" values (new.id, 'copied'); end`, [])
  expect(parents()).toHaveLength(2)
  writer.run(`insert into "others" values ('x')`, [])
  expect(parents()).toHaveLength(3)
})

test('while the version cannot be read because another process recovers the log, every read queries the database', async () => {
  const busyRecovery = Object.assign(new Error('database is locked'), { errcode: 261 })
  const readVersion = vi.spyOn(writer, 'valueOf').mockImplementation(() => {
    throw busyRecovery
  })
  const before = parents()
  await nextEvent()
  expect(parents()).toEqual(before)
  expect(queries).toBe(2)
  readVersion.mockRestore()
})
