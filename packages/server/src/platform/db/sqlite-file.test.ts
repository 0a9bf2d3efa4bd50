import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SqliteFile } from './sqlite-file.ts'

let folder: string
let writer: SqliteFile
let reader: SqliteFile
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-sqlite-'))
  writer = new SqliteFile(join(folder, 'one.db'), { readOnly: false })
  writer.run('create table things (id text)', [])
  writer.run('insert into things values (?)', ['a'])
  reader = new SqliteFile(join(folder, 'one.db'), { readOnly: true })
})
afterEach(() => {
  reader.close()
  writer.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A new version brings the schema up to date on one connection and then reads with another. */
test('a column added by another connection is read, also by an existing statement', () => {
  const all = 'select * from things'
  expect(reader.run(all, []).rows).toEqual([{ id: 'a' }])
  writer.run('alter table things add column place text', [])
  const rows = [{ id: 'a', place: null }]
  expect(reader.run(`${all} where 1`, []).rows).toEqual(rows)
  expect(reader.run(all, []).rows).toEqual(rows)
})
