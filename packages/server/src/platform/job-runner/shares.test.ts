import { expect, test } from 'vitest'
import type { Database } from '../database.ts'
import { sharedKind } from '../jobs/declare.ts'
import { describeOnEachDatabase } from '../test-each-database.ts'
import { startJobs, testJob } from './test-jobs.ts'

async function addOrganizations({ db }: Database, ids: readonly string[]): Promise<void> {
  const row = (id: string) => ({ id, name: id, slug: id, memberRepositories: null, quotas: null, createdAt: 1 })
  await db.insertInto('organizations').values(ids.map(row)).execute()
}

/** Jobs that run until the test releases them. */
function slots(concurrency: number) {
  const kind = sharedKind<string>('work')
  const begun: string[] = []
  const ends = new Map<string, PromiseWithResolvers<void>>()
  const endOf = (name: string) => ends.get(name) ?? ends.set(name, Promise.withResolvers<void>()).get(name)!
  const work = testJob(kind, {
    concurrency,
    run: async (name) => {
      begun.push(name)
      await endOf(name).promise
    },
  })
  const end = (...names: string[]) => {
    for (const name of names) endOf(name).resolve()
  }
  return { kind, work, begun, end }
}

async function countRunning({ db }: Database, owner: string): Promise<number> {
  return (await db.selectFrom('jobs').select('id').where('ownerId', '=', owner).where('status', '=', 'running').execute()).length
}

const named = (owner: string, count: number) => Array.from({ length: count }, (_, at) => `${owner} ${at + 1}`)

describeOnEachDatabase('slots that organisations share', (open) => {
  const setUp = async (concurrency: number, organizations: readonly string[]) => {
    const database = await open()
    await addOrganizations(database, organizations)
    const scene = slots(concurrency)
    const jobs = await startJobs(database, [scene.work])
    const enqueue = async (owner: string, count: number, options = {}) => {
      await database.transaction(async (transaction) => {
        for (const name of named(owner, count)) await transaction.enqueue(scene.kind.of({ organizationId: owner }), name, options)
      })
    }
    return { ...scene, jobs, enqueue, database }
  }

  test.each([2, 3, 8])('no organisation uses all %d slots, and another one starts at once', async (count) => {
    const { begun, database, enqueue, end, jobs, kind } = await setUp(count, ['greedy', 'other'])
    await enqueue('greedy', count + 3)
    const held = named('greedy', count - 1)
    await expect.poll(() => begun.toSorted()).toEqual(held.toSorted())
    for (const name of named('other', 5)) {
      await database.transaction((transaction) => transaction.enqueue(kind.of({ organizationId: 'other' }), name))
      await expect.poll(() => begun).toContain(name)
      end(name)
      await expect.poll(() => countRunning(database, 'other')).toBe(0)
    }
    expect(begun.toSorted()).toEqual([...held, ...named('other', 5)].toSorted())
    end(...named('greedy', count + 3))
    await jobs.whenIdle()
    expect(begun).toHaveLength(count + 8)
  })

  test('the only organisation uses all slots', async () => {
    const { begun, enqueue, end, jobs } = await setUp(3, ['only'])
    await enqueue('only', 4)
    await expect.poll(() => begun).toHaveLength(3)
    end(...named('only', 4))
    await jobs.whenIdle()
  })

  test('organisations alternate, regardless of queue length and priority', async () => {
    const { begun, enqueue, end, jobs } = await setUp(2, ['a', 'b', 'c'])
    await enqueue('a', 4, { priority: 100 })
    await expect.poll(() => begun).toEqual(['a 1'])
    await enqueue('b', 2, { priority: -1 })
    await expect.poll(() => begun).toEqual(['a 1', 'b 1'])
    await enqueue('c', 1)
    // Whose turn it is next: the one without a running job.
    end('a 1')
    await expect.poll(() => begun.slice(2)).toEqual(['c 1'])
    end('b 1')
    await expect.poll(() => begun.slice(3)).toEqual(['a 2'])
    end(...named('a', 4), ...named('b', 2), 'c 1')
    await jobs.whenIdle()
    expect(begun).toHaveLength(7)
  })

  test('a waiting organisation is served before one with a running job', async () => {
    const { begun, enqueue, end, jobs } = await setUp(3, ['a', 'b'])
    await enqueue('b', 3)
    await expect.poll(() => begun).toEqual(['b 1', 'b 2'])
    await enqueue('a', 2)
    await expect.poll(() => begun).toEqual(['b 1', 'b 2', 'a 1'])
    end('b 1')
    await expect.poll(() => begun).toHaveLength(4)
    end(...named('a', 2), ...named('b', 3))
    await jobs.whenIdle()
  })

  test('a job of a project uses the slots of its organisation', async () => {
    const { database, enqueue, begun, kind, end, jobs } = await setUp(2, ['org_a', 'org_b'])
    await enqueue('org_a', 1)
    await expect.poll(() => begun).toEqual(['org_a 1'])
    await database.transaction(({ enqueue: add }) => add(kind.of({ projectId: 'gone' }), 'of no project'))
    await expect.poll(() => begun).toContain('of no project')
    const rows = await database.db.selectFrom('jobs').select(['payload', 'ownerId']).where('kind', '=', 'work').execute()
    expect(Object.fromEntries(rows.map((row) => [JSON.parse(row.payload), row.ownerId]))).toEqual({
      'org_a 1': 'org_a',
      'of no project': '',
    })
    end('org_a 1', 'of no project')
    await jobs.whenIdle()
  })
})
