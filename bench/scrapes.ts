import { newId } from '../packages/server/src/platform/db/ids.ts'
import { startInstance } from '../packages/server/tests/kit/instance.ts'
import { makePeople } from '../packages/server/tests/kit/people.ts'
import { makeProject } from '../packages/server/tests/kit/projects.ts'

/**
 * Scrapes the metrics of an instance with 1,000 projects through the whole server in one process. Fails if 100 scrapes per minute
 * would cost 1 % of a core or more, computed from the CPU time of the process.
 */

const projects = 1_000
const scrapesPerMinute = 100
const seconds = 60
const allowed = 0.01
const token = 'scrape-me-with-this-token'

const instance = await startInstance({ BERTH_METRICS_TOKEN: token })
const people = await makePeople(instance)
const template = await makeProject(instance, people.owner.token)
const { db } = instance.database
const row = await db.selectFrom('projects').selectAll().where('id', '=', template.id).executeTakeFirstOrThrow()
const environment = await db.selectFrom('environments').selectAll().where('projectId', '=', row.id).executeTakeFirstOrThrow()
for (let at = 1; at < projects; at++) {
  const id = newId('prj')
  await db
    .insertInto('projects')
    .values({ ...row, id, slug: `shop-${at}` })
    .execute()
  await db
    .insertInto('environments')
    .values({ ...environment, id: newId('env'), projectId: id })
    .execute()
  await db
    .insertInto('liveEnvironments')
    .values({
      ...{ projectId: id, environment: 'production', deploymentId: null, state: 'live', staticFolder: null, serviceRoutes: null },
      ...{ services: null, health: 'healthy', healthReason: null, lastRequestAt: null, changedAt: Date.now() },
    })
    .execute()
}

const scrape = async () => {
  const answer = await instance.app.inject({ url: '/metrics', headers: { host: 'berth.test', authorization: `Bearer ${token}` } })
  if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`)
  return answer.body
}
const text = await scrape()
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const share = async (work: () => Promise<unknown>) => {
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  const end = start + seconds * 1000
  for (let next = start; next < end; next += 60_000 / scrapesPerMinute) {
    await work()
    await pause(Math.max(0, next + 60_000 / scrapesPerMinute - performance.now()))
  }
  const { user, system } = process.cpuUsage(cpu)
  return (user + system) / 1000 / (performance.now() - start)
}
const idle = await share(async () => undefined)
const scraped = await share(scrape)
await instance.stop()

const percent = (value: number) => `${(value * 100).toFixed(2)} %`
console.log(`${projects} projects, ${text.split('\n').length} lines, ${Math.round(text.length / 1024)} KiB per scrape`)
console.log(
  `${scrapesPerMinute} scrapes per minute: ${percent(scraped - idle)} of a core (idle ${percent(idle)}, allowed ${percent(allowed)})`,
)
if (scraped - idle > allowed) process.exitCode = 1
