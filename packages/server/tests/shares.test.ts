// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createJobs } from '../src/platform/job-runner/create-jobs.ts'
import { job, sharedKind } from '../src/platform/jobs/declare.ts'
import { startInstance, type TestInstance } from './kit/instance.ts'

/**
 * Slots × organisations: no organisation holds the last slot of a kind while another waits. A new kind of job is shared, or it is a
 * row here with the reason why it is not.
 */
const ofTheInstance: Record<string, 'database only' | 'each organisation in turn' | 'no organisation'> = {
  'access.sign-up-mail': 'no organisation',
  'access.password-reset-mail': 'no organisation',
  'backups.instance': 'no organisation',
  'backups.instance-due': 'database only',
  'backups.key': 'no organisation',
  'backups.prove': 'database only',
  'backups.prune-all': 'database only',
  'tasks.due': 'database only',
  'backups.scheduled': 'database only',
  'cloud.watch': 'each organisation in turn',
  'deployments.check-images': 'each organisation in turn',
  'edge.renew': 'database only',
  'edge.watch': 'no organisation',
  'git-events.tidy': 'database only',
  'jobs.missed': 'database only',
  'jobs.prune': 'database only',
  'notifications.announce': 'database only',
  'notifications.prune': 'database only',
  'notifications.watch-backups': 'database only',
  'notifications.watch-certificates': 'database only',
  'notifications.watch-servers': 'each organisation in turn',
  'notifications.watch-tokens': 'database only',
  'projects.check-domains': 'each organisation in turn',
  'projects.sweep-operations': 'database only',
  'projects.sweep-uploads': 'no organisation',
  'projects.thin-metrics': 'database only',
  'transfers.sweep': 'no organisation',
}

let instance: TestInstance
beforeAll(async () => {
  instance = await startInstance()
})
afterAll(() => instance.stop())

test('every kind is shared by organisations and has at least two slots, or is listed as a kind of the instance', () => {
  const own = instance.jobs.declared.filter(({ isShared }) => !isShared).map(({ kind }) => kind)
  expect(own.toSorted()).toEqual(Object.keys(ofTheInstance).toSorted())
  const narrow = instance.jobs.declared.filter(({ isShared, concurrency }) => isShared && concurrency < 2)
  expect(narrow.map(({ kind }) => kind)).toEqual([])
})

test('an organisation with endless jobs leaves a slot of every shared kind to another one', async () => {
  const { database } = instance
  const [greedy, other] = ['org_greedy', 'org_other'] as const
  const row = (id: string) => ({ id, name: id, slug: id, memberRepositories: null, quotas: null, createdAt: 1 })
  await database.db.insertInto('organizations').values([greedy, other].map(row)).execute()
  const declared = instance.jobs.declared.filter(({ isShared }) => isShared)
  const begun = new Set<string>()
  const end = Promise.withResolvers<void>()
  const standIns = declared.map(({ kind, concurrency }) => {
    const shared = sharedKind<{ owner: string }>(`stand-in.${kind}`)
    const stalls = job<{ owner: string }, undefined>(shared, {
      deadlineMs: 3_600_000,
      concurrency,
      run: async ({ owner }) => {
        begun.add(`${owner} ${kind}`)
        await end.promise
      },
    })
    return { shared, stalls, concurrency, kind }
  })
  const jobs = createJobs({
    database,
    signals: database.signals,
    deps: undefined,
    jobs: standIns.map(({ stalls }) => stalls),
  })
  await jobs.start()
  try {
    const enqueue = (organizationId: string, count: (slots: number) => number) =>
      database.transaction(async (transaction) => {
        for (const { shared, concurrency } of standIns)
          for (let at = 0; at < count(concurrency); at++)
            await transaction.enqueue(shared.of({ organizationId }), { owner: organizationId })
      })
    await enqueue(greedy, (slots) => slots + 1)
    const kinds = declared.map(({ kind }) => kind)
    await expect.poll(() => kinds.filter((kind) => !begun.has(`${greedy} ${kind}`))).toEqual([])
    await enqueue(other, () => 1)
    await expect.poll(() => kinds.filter((kind) => !begun.has(`${other} ${kind}`))).toEqual([])
  } finally {
    end.resolve()
    await jobs.stop()
  }
})
