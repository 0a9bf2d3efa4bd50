import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Member, SharedCommits } from './shared-commits.ts'
import { SqliteFile } from './sqlite-file.ts'

let folder: string
let writer: SqliteFile
let other: DatabaseSync
let commits: SharedCommits
let statements: string[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-commits-'))
  statements = []
  const file = join(folder, 'things.db')
  writer = new SqliteFile(file, { readOnly: false, afterRun: (sql) => statements.push(sql) })
  writer.run('create table things (id text primary key, parent text references things (id) deferrable initially deferred)', [])
  other = new DatabaseSync(file)
  commits = new SharedCommits(writer)
})
afterEach(() => {
  commits.close()
  other.close()
  writer.close()
  rmSync(folder, { recursive: true })
})

/** Rows that another connection sees: they are committed. */
const stored = (): string[] =>
  other
    .prepare('select id from things order by id')
    .all()
    .map(({ id }) => id as string)
const countCommits = () => statements.filter((sql) => sql === 'commit').length
const put = (member: Member, id: string, parent: string | null = null) =>
  member.run('insert into things (id, parent) values (?, ?)', [id, parent])

async function transact(work: (member: Member) => unknown): Promise<void> {
  const member = await commits.begin()
  try {
    await work(member)
    await member.commit()
  } catch (error) {
    await member.rollback()
    throw error
  }
}
const insert = (id: string, parent?: string) => transact((member) => put(member, id, parent))
const reasons = (results: PromiseSettledResult<unknown>[]) =>
  results.map((result) => (result.status === 'rejected' ? (result.reason as Error).message : 'on disk'))

test('transactions that wait at once share one commit, and each ends when it is on disk', async () => {
  const seen: string[][] = []
  await Promise.all(['a', 'b', 'c'].map((id) => insert(id).then(() => seen.push(stored()))))
  expect(countCommits()).toBe(1)
  expect(seen).toEqual([
    ['a', 'b', 'c'],
    ['a', 'b', 'c'],
    ['a', 'b', 'c'],
  ])
})

test('a transaction that ends does not wait for one of a later turn', async () => {
  await insert('a')
  await insert('b')
  expect(countCommits()).toBe(2)
})

test('a failing statement fails its own transaction only, with all that it wrote', async () => {
  const refused = (member: Member) => {
    put(member, 'x')
    put(member, 'a')
  }
  const results = await Promise.allSettled([insert('a'), transact(refused), insert('b')])
  expect(reasons(results)).toEqual(['on disk', 'UNIQUE constraint failed: things.id', 'on disk'])
  expect(stored()).toEqual(['a', 'b'])
  expect(countCommits()).toBe(1)
})

test('the first transaction of a commit fails alone', async () => {
  const failing = transact((member) => {
    put(member, 'x')
    throw new Error('changed my mind')
  })
  expect(reasons(await Promise.allSettled([failing, insert('a')]))).toEqual(['changed my mind', 'on disk'])
  expect(stored()).toEqual(['a'])
})

test('an error that may come from a row of another transaction is reported after that row is on disk', async () => {
  const order: string[] = []
  const first = insert('a').then(() => order.push('on disk'))
  const second = insert('a').catch(() => order.push(`refused, stored: ${stored().join()}`))
  await Promise.all([first, second])
  expect(order).toContain('refused, stored: a')
})

test('a commit that fails fails each of its transactions, and the next one succeeds', async () => {
  const results = await Promise.allSettled([insert('a'), insert('b', 'nothing')])
  expect(new Set(reasons(results))).toEqual(new Set(['FOREIGN KEY constraint failed']))
  expect(stored()).toEqual([])
  await insert('c')
  expect(stored()).toEqual(['c'])
})

test('a failure with which SQLite rolls back everything: no transaction of that commit ends well', async () => {
  const refused = (member: Member) => {
    put(member, 'b')
    expect(() => member.run('insert or rollback into things (id) values (?)', ['a'])).toThrow('UNIQUE')
    expect(() => put(member, 'c')).toThrow('UNIQUE')
  }
  expect(reasons(await Promise.allSettled([insert('a'), transact(refused)]))).toEqual(
    Array(2).fill('UNIQUE constraint failed: things.id'),
  )
  await insert('d')
  expect(stored()).toEqual(['d'])
})

test('a long transaction: earlier ones end with it, later ones begin after the commit', async () => {
  const mayEnd = Promise.withResolvers<void>()
  const early = insert('early')
  const long = transact(async (member) => {
    put(member, 'long')
    await mayEnd.promise
  })
  await nextTurn()
  const late = insert('late')
  await nextTurn()
  expect(stored()).toEqual([])
  mayEnd.resolve()
  await early
  expect(stored()).toEqual(['early', 'long'])
  await Promise.all([long, late])
  expect(stored()).toEqual(['early', 'late', 'long'])
})

test('a statement that runs alone is part of no transaction', async () => {
  const wasInside: boolean[] = []
  const alone = () =>
    commits.runAlone(() => {
      wasInside.push(writer.isInTransaction)
      return writer.run('pragma user_version = 1', [])
    })
  await Promise.all([insert('a'), alone(), insert('b'), alone()])
  expect(wasInside).toEqual([false, false])
  expect(stored()).toEqual(['a', 'b'])
})

test('a query of a transaction that has ended is refused', async () => {
  const member = await commits.begin()
  const ended = member.rollback()
  expect(() => put(member, 'a')).toThrow('has ended')
  await ended
})

test('so many transactions share one commit at most, since another process may wait for the file', async () => {
  await Promise.all(Array.from({ length: 120 }, (_, at) => insert(`row ${at}`)))
  expect(countCommits()).toBe(3)
  expect(stored()).toHaveLength(120)
})

test('at random, what ended well is stored and nothing else is', async () => {
  const kept: string[] = []
  const attempt = async (at: number) => {
    for (let turns = at % 4; turns > 0; turns -= 1) await nextTurn()
    const isFailing = at % 3 === 0
    const work = transact(async (member) => {
      put(member, `row ${at}`)
      if (at % 5 === 0) await nextTurn()
      if (at % 7 === 0) put(member, 'same')
      if (isFailing) throw new Error('on purpose')
    })
    await work.then(
      () => kept.push(`row ${at}`, ...(at % 7 === 0 ? ['same'] : [])),
      () => undefined,
    )
  }
  await Promise.all(Array.from({ length: 200 }, (_, at) => attempt(at)))
  expect(stored()).toEqual(kept.toSorted())
  expect(kept.length).toBeGreaterThan(50)
})

test('if the file is closed while transactions wait, each of them fails', async () => {
  const mayEnd = Promise.withResolvers<void>()
  const early = insert('early')
  const long = transact(async (member) => {
    put(member, 'long')
    await mayEnd.promise
  })
  const waiting = [insert('waiting'), insert('last')]
  await nextTurn()
  writer.close()
  mayEnd.resolve()
  const results = await Promise.allSettled([early, long, ...waiting])
  expect(results.map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
  expect(stored()).toEqual([])
})

test('a transaction that cannot begin fails alone, and the next one begins', async () => {
  const run = writer.run.bind(writer)
  writer.run = (sql, parameters) => {
    if (!sql.startsWith('savepoint')) return run(sql, parameters)
    writer.run = run
    throw new Error('out of memory')
  }
  const results = await Promise.allSettled([insert('a'), insert('b'), insert('c')])
  expect(reasons(results)).toEqual(['on disk', 'out of memory', 'on disk'])
  expect(stored()).toEqual(['a', 'c'])
})

test('a commit that fails and cannot be rolled back fails each of its transactions', async () => {
  const run = writer.run.bind(writer)
  writer.run = (sql, parameters) => {
    if (sql === 'commit' || sql === 'rollback') throw new Error(`${sql}: disk I/O error`)
    return run(sql, parameters)
  }
  const results = await Promise.allSettled([insert('a'), insert('b')])
  writer.run = run
  expect(reasons(results)).toEqual(Array(2).fill('commit: disk I/O error'))
  expect(stored()).toEqual([])
})

test('at random on a full disk, what ended well is stored and nothing else is', async () => {
  const limit = (pages: number) => void writer.run(`pragma max_page_count = ${pages}`, [])
  const large = 'x'.repeat(20_000)
  const kept: string[] = []
  const failures = new Set<string>()
  const attempt = async (at: number) => {
    for (let turns = at % 5; turns > 0; turns -= 1) await nextTurn()
    const ids = at % 3 === 0 ? [`small ${at}`, `large ${at} ${large}`] : [`small ${at}`]
    await transact(async (member) => {
      for (const id of ids) {
        put(member, id)
        if (at % 4 === 0) await nextTurn()
      }
    }).then(
      () => kept.push(...ids),
      (error: Error) => failures.add(error.message),
    )
  }
  limit(40)
  await Promise.all(Array.from({ length: 200 }, (_, at) => attempt(at)))
  expect([...failures]).toEqual(['database or disk is full'])
  expect(stored()).toEqual(kept.toSorted())
  expect(kept.length).toBeGreaterThan(10)
  limit(10_000)
  await insert('afterwards')
  expect(stored()).toContain('afterwards')
})

test('a savepoint within a transaction is rolled back alone', async () => {
  const nested = (id: string) =>
    transact((member) => {
      put(member, `${id} kept`)
      member.run('savepoint "inner"', [])
      put(member, `${id} undone`)
      member.run('rollback to "inner"', [])
      member.run('release "inner"', [])
    })
  await Promise.all([nested('a'), nested('b'), insert('c')])
  expect(stored()).toEqual(['a kept', 'b kept', 'c'])
  expect(countCommits()).toBe(1)
})
