import { expect, test } from 'vitest'
import type { Database } from '../database.ts'
import { describeOnEachDatabase } from '../test-each-database.ts'
import { BadCursor, page } from './pages.ts'

const list = ({ db }: Database, limit: number, cursor?: string | null) =>
  page(db.selectFrom('jobs').select(['id', 'createdAt', 'kind']), { limit, cursor, by: ['createdAt', 'id'], direction: 'desc' })

describeOnEachDatabase('pages', (open) => {
  const withJobs = async (count: number) => {
    const database = await open()
    await database.transaction(async ({ enqueue, db }) => {
      for (let i = 0; i < count; i++) {
        const { id } = await enqueue({ kind: 'test.work' }, {})
        // Three rows share each time, so the second column decides within a page and at its border.
        await db
          .updateTable('jobs')
          .set({ createdAt: 1000 + Math.floor(i / 3) })
          .where('id', '=', id)
          .execute()
      }
    })
    return database
  }

  test('the pages contain every row once, in order, and end with null', async () => {
    const database = await withJobs(11)
    const seen: { id: string; createdAt: number }[] = []
    let cursor: string | null | undefined
    do {
      const { rows, nextCursor } = await list(database, 4, cursor)
      expect(rows.length).toBeLessThanOrEqual(4)
      seen.push(...rows)
      cursor = nextCursor
    } while (cursor)
    const all = await database.db
      .selectFrom('jobs')
      .select(['id', 'createdAt', 'kind'])
      .orderBy('createdAt', 'desc')
      .orderBy('id', 'desc')
      .execute()
    expect(seen).toEqual(all)
  })

  test('a full last page has no cursor', async () => {
    const database = await withJobs(4)
    expect((await list(database, 4)).nextCursor).toBeNull()
  })

  test('a row removed between two pages does not shift the next page', async () => {
    const database = await withJobs(6)
    const first = await list(database, 3)
    await database.db
      .deleteFrom('jobs')
      .where('id', '=', first.rows[2]?.id ?? '')
      .execute()
    const second = await list(database, 3, first.nextCursor)
    expect(second.rows.length).toBe(3)
  })

  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const order = 'createdAt id desc'
  test.each([
    ['is not base64 of JSON', '%%%'],
    ['is empty', ''],
    ['is not a list', encode({ order })],
    ['belongs to another list', encode(['name id asc', 1, 'job_x'])],
    ['lacks a value', encode([order, 1])],
    ['has one value too many', encode([order, 1, 'job_x', 2])],
    ['holds something else than text and numbers', encode([order, { $gt: 0 }, 'job_x'])],
  ])('a cursor that %s is a BadCursor', async (_what, cursor) => {
    const database = await withJobs(1)
    await expect(list(database, 3, cursor)).rejects.toThrow(BadCursor)
  })

  test('a cursor with a value that does not fit its column is a BadCursor or finds nothing, never another error', async () => {
    const database = await withJobs(1)
    for (const value of ['soon', 1e300, '\u0000']) {
      const outcome = await list(database, 3, encode([order, value, 'job_x'])).catch((error: unknown) => error)
      if (!(outcome instanceof BadCursor)) expect(outcome).toHaveProperty('nextCursor')
    }
  })
})
