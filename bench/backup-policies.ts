// 1,000 policies of 1,000 projects due in the same minute: all run, never more at once than the cap, and the API answers as it does
// when nothing is to be done (p99 within 1.5 times of idle, which is asked for as long, half before and half after: what else the
// machine does comes and goes). Only seconds in which the host took nothing away count. Takes a quarter of an hour.
// Run: npx node bench/backup-policies.ts [policies]
import { setTimeout as pause } from 'node:timers/promises'
import type { ArchiveStore } from '../packages/server/src/drivers/archive-store/archive-store.ts'
import { call } from '../packages/server/tests/kit/call.ts'
import { startInstance } from '../packages/server/tests/kit/instance.ts'
import { makePeople } from '../packages/server/tests/kit/people.ts'
import { requestSteadily } from '../tests/kit/request-steadily.ts'
import { percentile } from './kit/load.ts'
import { StolenTime } from './kit/stolen-time.ts'
import { table } from './kit/table.ts'

const policies = Number(process.argv[2] ?? 1_000)
const cap = 2
const allowedRatio = 1.5
const idleMs = 60_000

const instance = await startInstance({ BERTH_MAX_BACKUPS: String(cap) })
const people = await makePeople(instance)
const { token } = people.owner
const made = async (at: `POST /${string}`, body: object, params = {}) => {
  const { status, body: answer } = await call(instance, token, at, { params, body })
  if (status !== 201) throw new Error(`${at}: ${status} ${JSON.stringify(answer)}`)
  return answer.data.id as string
}

let atOnce = 0
let limit = 0
instance.drivers.aroundStores.wrap = (store): ArchiveStore => {
  atOnce += 1
  limit = Math.max(limit, atOnce)
  const close = store.close.bind(store)
  return Object.assign(Object.create(store), {
    ...Object.fromEntries(
      (['check', 'put', 'get', 'size', 'list', 'remove', 'removeUnfinished'] as const).map((name) => [
        name,
        (store[name] as () => unknown).bind(store),
      ]),
    ),
    close: () => {
      atOnce -= 1
      return close()
    },
  })
}

const destinationId = await made('POST /backup-destinations', { name: 'Disk', kind: 'local', config: { path: 'bench' } })
const projectIds: string[] = []
for (let at = 0; at < policies; at++) {
  const projectId = await made('POST /projects', { name: `Project ${at}` })
  projectIds.push(projectId)
  await made('POST /projects/:projectId/backup-policies', { destinationId, cronExpression: '0 3 * * *' }, { projectId })
}
await instance.jobs.start()
const url = await instance.app.listen({ host: '127.0.0.1', port: 0 })

await using requests = requestSteadily(url, '127.0.0.1', {
  path: `/api/projects/${projectIds[0]}`,
  headers: { authorization: `Bearer ${token}` },
})
const seconds = { counted: 0, stolen: 0 }
/** How long answers took while the work was done, second by second. */
async function during(work: () => Promise<unknown>): Promise<number[]> {
  const took: number[] = []
  const stolen = new StolenTime()
  await requests.take()
  let isOver = false
  const over = work().finally(() => {
    isOver = true
  })
  while (!isOver) {
    await pause(1_000)
    const answers = await requests.take()
    // A hundredth of a second would be the p99.
    const isQuiet = stolen.take() === 0
    seconds[isQuiet ? 'counted' : 'stolen'] += 1
    if (isQuiet) for (const answer of answers) took.push(answer)
  }
  await over
  return took
}
await pause(2_000)
const idle = await during(() => pause(idleMs / 2))
const { db, signals } = instance.database
const counts = async () =>
  (
    await db
      .selectFrom('backupRuns')
      .select(['status', ({ fn }) => fn.countAll<number>().as('count')])
      .groupBy('status')
      .execute()
  ).map(({ status, count }) => [status, Number(count)] as const)
const areOver = async () => {
  const found = new Map(await counts())
  return (found.get('succeeded') ?? 0) + (found.get('failed') ?? 0) + (found.get('server_error') ?? 0) >= policies
}
let runsTook = 0
const busy = await during(async () => {
  await db.updateTable('schedules').set({ nextRunAt: Date.now() }).where('key', 'like', 'backup-policy:%').execute()
  signals.publish('jobs', { schedules: true })
  const began = performance.now()
  while (!(await areOver())) await pause(500)
  runsTook = (performance.now() - began) / 1000
})
await instance.jobs.whenIdle()
idle.push(...(await during(() => pause(idleMs / 2))))
for (const took of [idle, busy]) took.sort((one, other) => one - other)
const ended = new Map(await counts())
const ratio = percentile(busy, 99) / percentile(idle, 99)
console.log(
  table(
    ['', 'p50 ms', 'p99 ms', 'requests'],
    [
      ['idle', percentile(idle, 50).toFixed(2), percentile(idle, 99).toFixed(2), String(idle.length)],
      ['backing up', percentile(busy, 50).toFixed(2), percentile(busy, 99).toFixed(2), String(busy.length)],
    ],
  ),
)
console.log(
  `${ended.get('succeeded') ?? 0} of ${policies} succeeded in ${runsTook.toFixed(0)} s; most at once ${limit} (cap ${cap}); p99 ratio ${ratio.toFixed(2)}`,
)
console.log(`${seconds.counted} s counted, ${seconds.stolen} s left out because the host took processor time away`)
if (ended.get('succeeded') !== policies || ratio > allowedRatio) process.exitCode = 1
await instance.jobs.stop()
await instance.stop()
