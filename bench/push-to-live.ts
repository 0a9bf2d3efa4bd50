import { type GitHubHost, startGitHubHost } from '../tests/kit/git-hosts/github-host.ts'
import { type Hosting, isOver, startHosting } from '../tests/kit/hosting.ts'
import { table } from './kit/table.ts'

/**
 * node bench/push-to-live.ts [--projects=50] [--builds=2] [--rounds=10]: measures the time from the delivery of a push to the first
 * log line of each build, with all projects on one repository, and the time until the builds that may run at once fetch from git.
 * `--builds` is BERTH_MAX_BUILDS. Git requests wait until all of these builds have begun, and then get an error, so that the builds'
 * own work is not measured and takes no CPU time. Fails if the p99 of the first line is above the limit.
 */
const flag = (name: string, fallback: number) =>
  Number(process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback)

const [projects, builds, rounds] = [flag('projects', 50), flag('builds', 2), flag('rounds', 10)]
const limitMs = 200
const repository = 'acme/shop'

interface Round {
  answered: number
  recorded: number[]
  firstLine: number[]
  fetching: number[]
}

async function connect(host: GitHubHost, hosting: Hosting): Promise<string[]> {
  const { body } = await hosting.api('POST', '/gitprovider/connect', { source: 'oauth' })
  await fetch(await host.authorize(body.url, 'ann'), { redirect: 'manual' })
  const git = { gitProvider: 'github', gitOwner: 'acme', gitRepo: 'shop', gitBranch: 'main' }
  const made: string[] = []
  for (let at = 0; at < projects; at += 1) made.push((await hosting.makeProject({ name: `Shop ${at}`, ...git })).id)
  const hook = await hosting.api('POST', `/gitprovider/repos/${repository}/webhooks`)
  if (hook.status !== 201) throw new Error(`the webhook of the repository was not created: ${JSON.stringify(hook)}`)
  return made
}

/** Git requests wait at the host until this many have arrived, or the time is up. */
function holdGit(host: GitHubHost, count: number): Promise<void> {
  const all = Promise.withResolvers<void>()
  let come = 0
  const late = setTimeout(() => all.reject(new Error(`only ${come} of ${count} builds had begun after 60 s`)), 60_000)
  host.onGit = async () => {
    come += 1
    if (come === count) all.resolve()
    await all.promise.catch(() => {})
    throw new Error('not here')
  }
  return all.promise.finally(() => clearTimeout(late))
}

async function measure(host: GitHubHost, hosting: Hosting, projectIds: readonly string[], round: number): Promise<Round> {
  const commit = await host.git.commit(repository, { 'README.md': `round ${round}` })
  const payload = {
    ...{ ref: 'refs/heads/main', after: commit, deleted: false, repository: { id: 1, full_name: repository } },
    head_commit: { id: commit, message: 'change', author: { name: 'Test' } },
  }
  const begun = holdGit(host, Math.min(builds, projects))
  const sent = Date.now()
  const [answer] = await host.deliver(repository, 'push', payload)
  const answered = Date.now() - sent
  if (answer?.status !== 202) throw new Error(`the delivery was refused: ${JSON.stringify(answer)}`)
  await begun
  const made = await Promise.all(projectIds.map((id) => newestOf(hosting, id)))
  if (made.some(({ commit: found }) => found?.sha !== commit)) throw new Error('a project has no deployment of the push')
  const over = await Promise.all(made.map(({ id }) => hosting.settled(id, isOver)))
  const logs = await Promise.all(over.map(({ id }) => linesOf(hosting, id)))
  const firsts = logs.map(([line]) => line!.time)
  const fetching = logs.map((lines) => lines.find(({ message }) => message.startsWith('Fetching'))!.time)
  const after = (times: readonly string[]) => times.map((time) => Date.parse(time) - sent).sort((one, other) => one - other)
  const recorded = after(over.map(({ createdAt }) => createdAt))
  return { answered, recorded, firstLine: after(firsts), fetching: after(fetching).slice(0, builds) }
}

async function newestOf(hosting: Hosting, projectId: string) {
  return (await hosting.api('GET', `/deployments?projectId=${projectId}&limit=1`)).body.data[0]
}

async function linesOf(hosting: Hosting, id: string): Promise<{ time: string; message: string }[]> {
  return (await hosting.api('GET', `/deployments/${id}/logs`)).body.data
}

const at = (part: number, values: readonly number[]) =>
  values.toSorted((one, other) => one - other)[Math.min(values.length - 1, Math.ceil(part * values.length) - 1)] ?? Number.NaN

await using host = await startGitHubHost()
await host.createRepository(repository)
await using hosting = await startHosting({ env: { ...host.settings('oauth'), BERTH_MAX_BUILDS: String(builds) } })
const projectIds = await connect(host, hosting)
const all: Round[] = []
// The first round is warm-up and does not count.
for (let round = 0; round <= rounds; round += 1) all.push(await measure(host, hosting, projectIds, round))
all.shift()
const row = (name: string, values: readonly number[]) =>
  [name, values.length, at(0.5, values), at(0.99, values), Math.max(...values)] as const
const firstLine = all.flatMap((one) => one.firstLine)
const rows = [
  row(
    'the host has its answer',
    all.map((one) => one.answered),
  ),
  row(
    'a deployment is recorded',
    all.flatMap((one) => one.recorded),
  ),
  row('first line of a log', firstLine),
  row(
    'a build that may start begins to fetch',
    all.flatMap((one) => one.fetching),
  ),
]
console.log(`${projects} projects on one repository, ${builds} builds at once, ${rounds} pushes`)
console.log(table(['ms after the delivery was sent', 'count', 'p50', 'p99', 'longest'], rows))
console.log(`the p99 of the first line must be under ${limitMs} ms`)
process.exitCode = at(0.99, firstLine) < limitMs ? 0 : 1
