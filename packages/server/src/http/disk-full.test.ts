import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { asFailure } from './errors.ts'

/** An SQLite file that has reached its page limit, which is the same error as a full disk. */
function sqliteFull(): unknown {
  const database = new DatabaseSync(':memory:')
  database.exec('pragma max_page_count = 4; create table rows (text)')
  try {
    database.prepare('insert into rows values (?)').run('x'.repeat(100_000))
  } catch (error) {
    return error
  } finally {
    database.close()
  }
  return undefined
}

test.each<[string, unknown]>([
  ['a file', Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })],
  ['a quota', Object.assign(new Error('EDQUOT: disk quota exceeded'), { code: 'EDQUOT' })],
  ['SQLite', sqliteFull()],
  ['PostgreSQL', Object.assign(new Error('could not extend file: No space left on device'), { code: '53100' })],
  ['a cause', new Error('the write failed', { cause: Object.assign(new Error('full'), { code: 'ENOSPC' }) })],
])('a full disk reported by %s is 507 storage_full without a path', (_, error) => {
  const failure = asFailure(error)
  expect([failure.status, failure.code]).toEqual([507, 'storage_full'])
  expect(failure.message).toContain("No space left on the instance's disk")
})

test('another error is not 507', () => {
  const other = Object.assign(new Error('constraint failed'), { code: 'ERR_SQLITE_ERROR', errcode: 19 })
  expect(asFailure(other).code).toBe('internal')
})
