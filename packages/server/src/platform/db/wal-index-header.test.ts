import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SqliteFile } from './sqlite-file.ts'
import { WalIndexHeader } from './wal-index-header.ts'

let folder: string
let file: string
let own: SqliteFile
let header: WalIndexHeader
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-wal-index-'))
  file = join(folder, 'things.db')
  own = new SqliteFile(file, { readOnly: false })
  own.run('create table things (value text)', [])
  header = new WalIndexHeader(file)
  header.hasChanged()
})
afterEach(() => {
  own.close()
  header.close()
  rmSync(folder, { recursive: true })
})

/** Runs statements on the database in a process of its own. */
const inAnotherProcess = (sql: string) => {
  const program = `new (require('node:sqlite').DatabaseSync)(${JSON.stringify(file)}).exec(${JSON.stringify(sql)})`
  execFileSync(process.execPath, ['--no-warnings', '-e', program])
}

test('a commit of this process or another one changes it; reads and open transactions do not', () => {
  expect(header.hasChanged()).toBe(false)
  own.run("insert into things values ('a')", [])
  expect(header.hasChanged()).toBe(true)
  own.run('select * from things', [])
  own.run('begin immediate', [])
  own.run("insert into things values ('b')", [])
  expect(header.hasChanged()).toBe(false)
  own.run('commit', [])
  expect(header.hasChanged()).toBe(true)
  for (let round = 0; round < 3; round++) {
    inAnotherProcess("insert into things values ('c')")
    expect(header.hasChanged()).toBe(true)
    expect(header.hasChanged()).toBe(false)
  }
})

test('the commit after a truncating checkpoint changes it', () => {
  own.run('pragma wal_checkpoint(truncate)', [])
  header.hasChanged()
  inAnotherProcess("insert into things values ('d')")
  expect(header.hasChanged()).toBe(true)
})

test('closing a second user of the same database does not affect the first', () => {
  const other = new WalIndexHeader(file)
  other.hasChanged()
  other.close()
  own.run("insert into things values ('e')", [])
  expect(header.hasChanged()).toBe(true)
  expect(header.hasChanged()).toBe(false)
})

test('without WAL mode it always reports a change', () => {
  const plain = join(folder, 'plain.db')
  const database = new DatabaseSync(plain)
  database.exec('create table things (value text)')
  const unknown = new WalIndexHeader(plain)
  expect([unknown.hasChanged(), unknown.hasChanged()]).toEqual([true, true])
  database.close()
})

test.runIf(existsSync('/proc/self/fd'))('the file is closed with its last user', () => {
  const isOpen = () =>
    readdirSync('/proc/self/fd').some((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(`${file}-shm`)
      } catch {
        return false
      }
    })
  expect(isOpen()).toBe(true)
  own.close()
  header.close()
  expect(isOpen()).toBe(false)
})
