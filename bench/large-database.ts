import { directReadsOf } from '../packages/server/src/platform/db/direct-reads.ts'
import { call } from '../packages/server/tests/kit/call.ts'
import { startInstance, type TestInstance } from '../packages/server/tests/kit/instance.ts'
import { fillTables, type TableSizes } from '../packages/server/tests/kit/large-tables.ts'
import { makePeople, type Person } from '../packages/server/tests/kit/people.ts'
import { makeProject } from '../packages/server/tests/kit/projects.ts'
import { table } from './kit/table.ts'

/**
 * node bench/large-database.ts [--only=sqlite|postgres]: compares the common reads of an organisation with 10,000 projects and
 * 1,000,000 deliveries with those of a small organisation whose pages are just as full. Every read goes to the database, not to the
 * cache. Fails if the p99 of a read is more than 1.5 × that of the small organisation. PostgreSQL: at BERTH_TEST_POSTGRES_URL.
 */
const allowed = 1.5
const rounds = 300
const page = 50
const repetitions = 3

const sizes: Record<'small' | 'large', TableSizes> = {
  small: { projects: 2 * page, ofFirstProject: 2 * page, members: 2, deliveriesPerMember: 1_000, auditEntries: 4 * page },
  large: { projects: 10_000, ofFirstProject: 5_000, members: 500, deliveriesPerMember: 2_000, auditEntries: 200_000 },
}

interface Read {
  at: string
  query?: Record<string, string | number>
}

const reads: readonly Read[] = [
  { at: 'GET /projects', query: { limit: page } },
  { at: 'GET /projects/:id' },
  { at: 'GET /projects/:id/info' },
  { at: 'GET /projects/:id/deployments', query: { limit: page } },
  { at: 'GET /deployments', query: { limit: page } },
  { at: 'GET /notifications/deliveries', query: { limit: page } },
  { at: 'GET /notifications/deliveries', query: { limit: page, kind: 'webhook' } },
  { at: 'GET /notifications/deliveries/unseen-count' },
  { at: 'GET /audit-log', query: { limit: page } },
  { at: 'GET /audit-log', query: { limit: page, objectId: 'prj_1' } },
  { at: 'GET /backup-runs', query: { limit: page } },
  { at: 'GET /projects/:id/backup-runs', query: { limit: page } },
  { at: 'GET /auth/session' },
]

interface Side {
  instance: TestInstance
  owner: Person
  projectId: string
}

async function prepare(size: TableSizes): Promise<Side> {
  const instance = await startInstance()
  const { owner } = await makePeople(instance)
  const { id: projectId } = await makeProject(instance, owner.token)
  const { organizationId, userId } = owner
  await fillTables(instance.database.db, { organizationId, projectId, userId }, size)
  return { instance, owner, projectId }
}

/** Empties the cache of reads, so that the next read goes to the database. */
async function forget({ instance: { database } }: Side): Promise<void> {
  const direct = directReadsOf(database.db) as { drop?(): void }
  direct.drop?.()
  // A commit is a new snapshot on PostgreSQL.
  const key = `bench ${performance.now()}`
  await database.db.insertInto('announcedOnce').values({ key, forgetAt: 0 }).execute()
}

async function timeOf({ instance, owner, projectId }: Side, { at, query = {} }: Read): Promise<number> {
  const began = performance.now()
  const { status } = await call(instance, owner.token, at as 'GET /', { params: { id: projectId, projectId }, query })
  if (status !== 200) throw new Error(`${at}: ${status}`)
  return performance.now() - began
}

const quantile = (times: number[], part: number) => times.sort((one, other) => one - other)[Math.floor(times.length * part)]!

/** Measures p50 and p99 of both organisations in turn, so that other load on the machine affects both. The best repetition counts. */
async function compare(sides: readonly Side[], read: Read): Promise<{ p50: number; p99: number }[]> {
  const best = sides.map(() => ({ p50: Number.POSITIVE_INFINITY, p99: Number.POSITIVE_INFINITY }))
  for (let repetition = 0; repetition < repetitions; repetition++) {
    const times: number[][] = sides.map(() => [])
    for (let round = 0; round < rounds; round++)
      for (const [at, side] of sides.entries()) {
        await forget(side)
        times[at]!.push(await timeOf(side, read))
      }
    for (const [at, list] of times.entries()) {
      best[at]!.p50 = Math.min(best[at]!.p50, quantile(list, 0.5))
      best[at]!.p99 = Math.min(best[at]!.p99, quantile(list, 0.99))
    }
  }
  return best
}

const only = process.argv.find((word) => word.startsWith('--only='))?.slice('--only='.length)
const kinds = ['sqlite', ...(process.env.BERTH_TEST_POSTGRES_URL ? ['postgres'] : [])].filter((kind) => !only || kind === only)
const ms = (value: number) => value.toFixed(2)
for (const kind of kinds) {
  process.env.BERTH_TEST_DATABASE = kind
  const began = performance.now()
  const sides = [await prepare(sizes.small), await prepare(sizes.large)]
  console.log(`${kind}: filled in ${Math.round((performance.now() - began) / 1000)} s`)
  const rows: string[][] = []
  for (const read of reads) {
    let [small, large] = await compare(sides, read)
    // Other programs lengthen a p99: a read that is too slow is measured again.
    for (let again = 0; again < 2 && large!.p99 > small!.p99 * allowed; again++) [small, large] = await compare(sides, read)
    const ratio = large!.p99 / small!.p99
    const name = [
      read.at,
      ...Object.entries(read.query ?? {}).flatMap(([key, value]) => (key === 'limit' ? [] : `${key}=${value}`)),
    ]
    rows.push([name.join(' '), ms(small!.p50), ms(large!.p50), ms(small!.p99), ms(large!.p99), ratio.toFixed(2)])
    if (ratio > allowed) process.exitCode = 1
  }
  console.log(table([`${kind}: read`, 'p50 small', 'p50 large', 'p99 small', 'p99 large', 'ratio p99'], rows))
  for (const { instance } of sides) await instance.stop()
}
if (process.exitCode === 1) console.error(`FAILED: a read is more than ${allowed} × slower in the large database`)
