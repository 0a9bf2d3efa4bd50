import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Database } from '../database.ts'
import { describeOnEachDatabase } from '../test-each-database.ts'
import { claimNext } from './claim.ts'

const kinds = Array.from({ length: 40 }, (_, at) => `kind.${at}`)
const now = new Date('2030-01-01T00:00:00Z')
const claim = async (database: Database, from = kinds, busy: string[] = []) => {
  const owners = Object.fromEntries(from.map((kind) => [kind, { after: '', busy }]))
  const row = await claimNext(database, { owners, now, token: randomUUID(), leaseMs: 30_000 })
  return row === 'taken' ? undefined : row
}

async function queue(
  { db }: Database,
  rows: { kind: string; priority?: number; runAt?: number; groupKey?: string; ownerId?: string }[],
) {
  const { max } = await db
    .selectFrom('jobs')
    .select(({ fn }) => fn.max('sequence').as('max'))
    .executeTakeFirstOrThrow()
  const values = rows.map((row, at) => ({
    id: `job_${Number(max ?? 0) + at + 1}`,
    payload: '{}',
    status: 'queued' as const,
    priority: 0,
    sequence: Number(max ?? 0) + at + 1,
    runAt: now.getTime() - 1,
    attempts: 0,
    cancelRequested: 0 as const,
    createdAt: now.getTime(),
    ...row,
  }))
  for (let at = 0; at < values.length; at += 500)
    await db
      .insertInto('jobs')
      .values(values.slice(at, at + 500))
      .execute()
}

async function quickestOf(times: number, work: () => Promise<unknown>): Promise<number> {
  const took: number[] = []
  for (let at = 0; at < times; at++) {
    const began = performance.now()
    await work()
    took.push(performance.now() - began)
  }
  return Math.min(...took)
}

describeOnEachDatabase('of many jobs that wait', (open) => {
  test('claims the highest priority of all kinds, then the longest waiting job, never one before its time', async () => {
    const database = await open()
    const early = now.getTime() - 60_000
    await queue(database, [
      { kind: 'kind.3' },
      { kind: 'kind.9', runAt: early },
      { kind: 'kind.1', priority: 5 },
      { kind: 'kind.7', priority: 9, runAt: now.getTime() + 1 },
      { kind: 'elsewhere', priority: 9 },
      { kind: 'kind.3' },
      { kind: 'kind.1', priority: 7 },
    ])
    const claimed: string[] = []
    for (;;) {
      const row = await claim(database)
      if (!row) break
      claimed.push(row.id)
    }
    expect(claimed).toEqual(['job_7', 'job_3', 'job_2', 'job_1', 'job_6'])
  })

  test('a job whose group is busy is overtaken by the next one of its kind', async () => {
    const database = await open()
    await queue(database, [
      { kind: 'kind.1', groupKey: 'a' },
      { kind: 'kind.1', groupKey: 'a' },
      { kind: 'kind.1', groupKey: 'b' },
    ])
    expect([await claim(database), await claim(database), await claim(database)].map((row) => row?.id)).toEqual([
      'job_1',
      'job_3',
      undefined,
    ])
  })

  test('a claim does not slow down with many waiting jobs, also if none may run', async ({ skip }) => {
    const database = await open()
    if (database.kind === 'postgres') skip('PostgreSQL sorts in a process of its own, and requests do not wait for it')
    const others = kinds.filter((kind) => kind !== 'kind.1')
    await queue(
      database,
      Array.from({ length: 50 }, () => ({ kind: 'kind.1' })),
    )
    const few = [await quickestOf(20, () => claim(database)), await quickestOf(20, () => claim(database, others))] as const
    await queue(
      database,
      Array.from({ length: 8_000 }, () => ({ kind: 'kind.1' })),
    )
    const many = [await quickestOf(20, () => claim(database)), await quickestOf(20, () => claim(database, others))] as const
    expect(many[0] / few[0]).toBeLessThan(5)
    expect(many[1] / few[1]).toBeLessThan(5)
  })

  test('many waiting jobs of one organisation do not slow down a claim for another one', async ({ skip }) => {
    const database = await open()
    if (database.kind === 'postgres') skip('PostgreSQL searches in a process of its own, and requests do not wait for it')
    const others = Array.from({ length: 200 }, (_, at) => ({ kind: 'kind.1', ownerId: `org_b${at}` }))
    const measure = async () => [
      await quickestOf(20, () => claim(database, kinds, ['org_a'])),
      await quickestOf(20, () => claim(database, ['kind.1'], ['org_a', ...others.map(({ ownerId }) => ownerId)])),
    ]
    await queue(database, [...Array.from({ length: 10 }, () => ({ kind: 'kind.1', ownerId: 'org_a' })), ...others])
    const few = await measure()
    await queue(
      database,
      Array.from({ length: 8_000 }, () => ({ kind: 'kind.1', ownerId: 'org_a' })),
    )
    const many = await measure()
    expect(many.map((ms, at) => ms / few[at]! < 5)).toEqual([true, true])
  })
})
