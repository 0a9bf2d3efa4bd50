// 1. A burst of 1,000 events to 50 people: what announcing adds to a request, how long telling takes, and whether memory stays flat.
// 2. Two servers on one PostgreSQL, 5,000 deliveries, one of them killed with -9 five times.
// Run: npx node bench/notifications.ts [burst | storm]; BERTH_TEST_POSTGRES_URL: the burst on PostgreSQL as well, and the storm.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sql } from 'kysely'
import { newId } from '../packages/server/src/db/ids.ts'
import { openTestDatabase } from '../packages/server/src/db/test-database.ts'
import { createMailer } from '../packages/server/src/drivers/mail/mailer.ts'
import { startSmtpServer } from '../packages/server/src/drivers/mail/test-smtp-server.ts'
import { createWebRequest } from '../packages/server/src/drivers/web-request/web-request.ts'
import { insertMember, insertUser } from '../packages/server/src/modules/access/people.ts'
import { startInstance, type TestInstance } from '../packages/server/tests/kit/instance.ts'
import { makePeople, type People } from '../packages/server/tests/kit/people.ts'
import { runStorm } from '../tests/e2e/notification-storm.ts'
import { megabytes, table } from './kit/table.ts'

const events = 1_000
const peopleCount = 50
const bursts = 3
const allowedMs = 50
const text = 'The health check did not pass: the last status was 502 after 30 seconds.\n'.repeat(5)

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const what = process.argv[2]
const kinds = process.env.BERTH_TEST_POSTGRES_URL ? ['sqlite', 'postgres'] : ['sqlite']
if (what !== 'storm') for (const kind of kinds) await measureBurst(kind)
if (what !== 'burst' && process.env.BERTH_TEST_POSTGRES_URL) await measureStorm()

async function measureBurst(kind: string): Promise<void> {
  process.env.BERTH_TEST_DATABASE = kind
  let mails = 0
  await using smtp = await startSmtpServer({
    onData(stream, _session, done) {
      mails++
      stream.on('end', () => done()).resume()
    },
  })
  const deliveryDrivers = {
    webRequest: createWebRequest({ allowPrivate: true }),
    mailer: createMailer({ smtpUrl: `smtp://127.0.0.1:${smtp.port}` }),
  }
  const instance = await startInstance({}, { deliveryDrivers })
  const people = await makePeople(instance)
  await addMembers(instance, people.organizationId, peopleCount - 4)
  await instance.jobs.start()
  const write = () => sendRequest(instance, people)
  for (let at = 0; at < 200; at++) await write()

  const own = await timesOf(events, write)
  const rows: (string | number)[][] = [[`${kind}, before`, 0, 0, 0, 0, 0, ...memory()]]
  for (let burst = 1; burst <= bursts; burst++) rows.push([`${kind}, burst ${burst}`, ...(await oneBurst(instance, people, own))])
  const columns = ['', 'added p50 ms', 'added p99 ms', 'added max ms', 'told after s', 'deliveries', 'heap', 'rss']
  console.log(`\n${events.toLocaleString('en')} events to ${peopleCount} people, each with a feed and a verified e-mail address:`)
  console.log(`the request alone: p50 ${own.at(50).toFixed(2)} ms, p99 ${own.at(99).toFixed(2)} ms`)
  console.log(table(columns, rows))
  console.log(`mails: ${mails}`)
  await instance.jobs.stop()
  await instance.stop()
}

async function oneBurst(instance: TestInstance, people: People, own: Times): Promise<(string | number)[]> {
  const { database, jobs } = instance
  const { organizationId } = people
  const announceOnce = (at: number) =>
    database.transaction(({ announce }) =>
      announce('deploy.failed', { organizationId, subject: `Deployment ${at} failed`, text }),
    )
  const began = performance.now()
  const together = await timesOf(events, async (at) => {
    await sendRequest(instance, people)
    await announceOnce(at)
  })
  await jobs.whenIdle()
  const toldMs = performance.now() - began
  const { deliveries } = await database.db
    .selectFrom('deliveries')
    .select(({ fn }) => fn.sum<number>(sql`case when "joinedCount" = 0 then 1 else "joinedCount" end`).as('deliveries'))
    .executeTakeFirstOrThrow()
  const added = [50, 99, 100].map((percent) => together.at(percent) - own.at(percent))
  if (added[0]! > allowedMs) process.exitCode = 1
  return [...added, toldMs / 1000, Number(deliveries), ...memory()]
}

function memory(): string[] {
  collectGarbage()
  const { rss, heapUsed } = process.memoryUsage()
  return [megabytes(heapUsed), megabytes(rss)]
}

async function sendRequest({ app }: TestInstance, { owner }: People): Promise<void> {
  const { statusCode } = await app.inject({
    method: 'PUT',
    url: '/api/notifications/defaults',
    headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
    payload: '{"category":"project.slept","defaultEnabled":false}',
  })
  if (statusCode !== 200) throw new Error(`the request was answered with ${statusCode}`)
}

async function addMembers({ database }: TestInstance, organizationId: string, count: number): Promise<void> {
  const now = Date.now()
  await database.transaction(async ({ db }) => {
    for (let at = 0; at < count; at++) {
      const { id } = await insertUser(db, { email: `person-${at}@example.test`, passwordHash: '' }, now)
      await insertMember(db, organizationId, id, 'member', now)
    }
    const members = await db.selectFrom('members').select('userId').where('organizationId', '=', organizationId).execute()
    const channels = members.map(({ userId }, at) => ({
      id: newId('nch'),
      organizationId,
      userId,
      kind: 'email' as const,
      label: 'Mail',
      config: JSON.stringify({ address: `person-${at}@example.test` }),
      secrets: null,
      configRevision: 1,
      enabled: true,
      verified: true,
      createdAt: now,
      updatedAt: now,
    }))
    await db.insertInto('notificationChannels').values(channels).execute()
  })
}

interface Times {
  /** The time that so many percent did not exceed. */
  at(percent: number): number
}

async function timesOf(count: number, work: (at: number) => Promise<void>): Promise<Times> {
  const times: number[] = []
  for (let at = 0; at < count; at++) {
    const began = performance.now()
    await work(at)
    times.push(performance.now() - began)
    // A request comes from outside: between two of them the process can do other work.
    await new Promise((resolve) => setImmediate(resolve))
  }
  times.sort((left, right) => left - right)
  return { at: (percent) => times[Math.min(times.length - 1, Math.floor((percent / 100) * times.length))]! }
}

async function measureStorm(): Promise<void> {
  const database = await openTestDatabase({ kind: 'postgres' })
  try {
    const { deliveries, receipts, killedAt, receivedAtLastKill, badSignatures, tookMs } = await runStorm({
      database,
      channels: 250,
      kills: 5,
      withinMs: 600_000,
    })
    const doubled = [...receipts.values()].filter((times) => times.length > 1).length
    const onceTriedTwiceReceived = deliveries.filter(
      ({ id, attempts }) => attempts === 1 && (receipts.get(id)?.length ?? 0) !== 1,
    )
    console.log('\ntwo servers on one PostgreSQL, one of them killed with -9:')
    console.log(
      table(
        ['', 'figure'],
        [
          ['deliveries', deliveries.length],
          ['sent', deliveries.filter(({ status }) => status === 'sent').length],
          ['received', receipts.size],
          ['wrong signatures', badSignatures],
          ['kills', killedAt.length],
          ['received at the last kill', receivedAtLastKill],
          ['cut off by a kill and sent again under the same id', doubled],
          ['received twice though tried once', onceTriedTwiceReceived.length],
          ['seconds', tookMs / 1000],
          ['deliveries a second', deliveries.length / (tookMs / 1000)],
        ],
      ),
    )
    if (receipts.size !== deliveries.length || onceTriedTwiceReceived.length > 0) process.exitCode = 1
  } finally {
    await database.close()
  }
}
