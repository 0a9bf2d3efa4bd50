import { createHmac, randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { type GitHubHost, startGitHubHost } from '../tests/kit/git-hosts/github-host.ts'
import { type Hosting, startHosting } from '../tests/kit/hosting.ts'
import { requestSteadily, type SteadyRequests } from '../tests/kit/request-steadily.ts'
import { memoryOfTree } from './kit/process-memory.ts'
import { table } from './kit/table.ts'

/**
 * node bench/delivery-flood.ts: measures how deliveries of a git host affect other callers. A thousand forged and then a
 * thousand valid ones are sent within a second each, then a hundred connections send 24 MB each and never end. Meanwhile one
 * client reads projects through the API. Fails if a valid delivery is lost or memory grows beyond the limit.
 */
const deliveries = 1_000
const holders = 100
const maxGrowthMb = 300
const repository = 'acme/shop'

const agent = new Agent({ keepAlive: true, maxSockets: 100 })

interface Answered {
  status: number
  ms: number
}

function send(url: URL, body: string, secret: string): Promise<Answered> {
  const headers = {
    ...{ 'content-type': 'application/json', 'x-github-event': 'push', 'x-github-delivery': randomUUID() },
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    'content-length': Buffer.byteLength(body),
  }
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    request(url, { method: 'POST', headers, agent }, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, ms: performance.now() - begun }))
    })
      .on('error', reject)
      .end(body)
  })
}

/** Branches that no project deploys: this measures the receipt of deliveries, without builds. */
const pushOf = (number: number) =>
  JSON.stringify({
    ...{ ref: `refs/heads/branch-${number}`, after: number.toString(16).padStart(40, 'a'), deleted: false },
    repository: { id: 1, full_name: repository, default_branch: 'main' },
    head_commit: { message: 'x'.repeat(5_000), author: { name: 'Ann' } },
  })

async function flood(url: URL, secret: string): Promise<Answered[]> {
  const all: Promise<Answered>[] = []
  for (let at = 0; at < deliveries; at += 1) {
    all.push(send(url, pushOf(at), secret))
    if (at % 10 === 9) await pause(10)
  }
  return Promise.all(all)
}

/** Sends all bytes of a delivery but the last one. Returns a function that closes the connection. */
function hold(url: URL): () => void {
  const bytes = 24_000_000
  const sending = request(url, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', 'content-length': bytes + 1, 'x-github-event': 'push' },
  })
  sending.on('error', () => {}).on('response', (response) => response.resume())
  sending.write(Buffer.alloc(bytes, 32))
  return () => sending.destroy()
}

const at = (part: number, values: readonly number[]) =>
  values.toSorted((one, other) => one - other)[Math.min(values.length - 1, Math.ceil(part * values.length) - 1)] ?? Number.NaN
const round = (value: number) => Math.round(value * 10) / 10

await using host: GitHubHost = await startGitHubHost()
await host.createRepository(repository)
await using hosting: Hosting = await startHosting({ env: { ...host.settings('oauth'), BERTH_RATE_LIMIT_SCALE: '10000' } })
const { body } = await hosting.api('POST', '/gitprovider/connect', { source: 'oauth' })
await fetch(await host.authorize(body.url, 'ann'), { redirect: 'manual' })
await hosting.makeProject({ name: 'Shop', gitProvider: 'github', gitOwner: 'acme', gitRepo: 'shop', gitBranch: 'main' })
await hosting.api('POST', `/gitprovider/repos/${repository}/webhooks`)
const [hook] = host.hooks
const { token } = (await hosting.api('POST', '/tokens', { name: 'asking' })).body.data
const url = new URL(hook!.url)
await using requests: SteadyRequests = requestSteadily(hosting.berth.url, new URL(hosting.berth.url).host, {
  path: '/api/projects',
  headers: { authorization: `Bearer ${token}` },
})

const rss = () => memoryOfTree(hosting.berth.pid).then(({ rssBytes }) => rssBytes / 1_000_000)
const rows: (string | number)[][] = []
const failures: string[] = []
async function phase(name: string, work: () => Promise<{ statuses: number[]; ms: number[] }>): Promise<void> {
  await requests.take()
  const before = await rss()
  let limit = before
  const watch = setInterval(() => void rss().then((now) => (limit = Math.max(limit, now))), 250)
  const begun = performance.now()
  const { statuses, ms } = await work()
  const took = performance.now() - begun
  clearInterval(watch)
  const api = await requests.take()
  const counts = [...new Set(statuses)].map((status) => `${statuses.filter((one) => one === status).length} × ${status}`)
  rows.push([
    name,
    counts.join(', '),
    round(took),
    round(at(0.99, ms)),
    round(at(0.5, api)),
    round(at(0.99, api)),
    round(limit - before),
  ])
  if (limit - before > maxGrowthMb) failures.push(`${name}: memory grew by ${round(limit - before)} MB`)
}
const answered = (all: Answered[]) => ({ statuses: all.map(({ status }) => status), ms: all.map(({ ms }) => ms) })

await phase('nothing else', async () => {
  await pause(3_000)
  return { statuses: [], ms: [] }
})
await phase(`${deliveries} forged`, async () => answered(await flood(url, 'a guess')))
await phase(`${deliveries} good`, async () => {
  const all = await flood(url, hook!.secret)
  const lost = all.filter(({ status }) => status !== 202).length
  if (lost > 0) failures.push(`${lost} good deliveries were not taken`)
  return answered(all)
})
await phase('and what comes of them', async () => {
  await pause(5_000)
  return { statuses: [], ms: [] }
})
await phase(`${holders} that never end`, async () => {
  const ends = Array.from({ length: holders }, () => hold(url))
  await pause(6_000)
  const good = await send(url, pushOf(5_000), hook!.secret)
  for (const end of ends) end()
  if (good.status !== 202) failures.push(`a good delivery beside them was answered ${good.status}`)
  return answered([good])
})
console.log(table(['phase', 'answers', 'took ms', 'answer p99 ms', 'API p50 ms', 'API p99 ms', 'memory + MB'], rows))
for (const failure of failures) console.log(failure)
process.exitCode = failures.length === 0 ? 0 : 1
agent.destroy()
