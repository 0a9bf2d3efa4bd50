// Attacks the git host module of a built instance: forged, replayed and oversized deliveries, forks that try to read production's
// secrets, a second organisation that tries to use the machine's login, callbacks with another user's state, hostile names, URLs that
// point to internal or other hosts, a revoked token. Run on a built product: npx node bench/git-host-attack.ts [--minutes 20]
// [--only part of a name]. Fails when an attack succeeds, when a response is 500, when a token reaches another host, a log or a file,
// or when the victim's next push does not go live.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type GitHubHost, startGitHubHost, tokens } from '../tests/kit/git-hosts/github-host.ts'
import { type Hosting, startHosting } from '../tests/kit/hosting.ts'
import { serve } from '../tests/kit/http-server.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'
import { addressAttacks, type Visits } from './kit/git-host-attack/addresses.ts'
import { deliveryAttacks } from './kit/git-host-attack/deliveries.ts'
import { forkAttacks } from './kit/git-host-attack/forks.ts'
import { journeyAttacks } from './kit/git-host-attack/journeys.ts'
import { nameAttacks } from './kit/git-host-attack/names.ts'
import { app, appSecret, repository, setAttackScene, signInGh, theirs } from './kit/git-host-attack/scene.ts'
import { table } from './kit/table.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '20' }, only: { type: 'string', default: '' } } })
const endAt = Date.now() + Number(values.minutes) * 60_000
const visits: Visits = { seen: [] }
await using elsewhere = await serve(({ url = '', headers }, response) => {
  visits.seen.push({ url, authorization: headers.authorization ?? (headers['private-token'] as string | undefined) })
  response.writeHead(headers.authorization ? 404 : 401, { 'www-authenticate': 'Basic realm="git"' }).end()
})
await using host: GitHubHost = await startGitHubHost()
await host.createRepository(repository, app('first'))
await host.createRepository(theirs, app('hers'))
await using home = await tempFolder('gh-home')
await signInGh(home.path, host)
const env = { ...host.settings('app', 'oauth'), BERTH_GITHUB_WEBHOOK_SECRET: appSecret, BERTH_RATE_LIMIT_SCALE: '100000' }
await using hosting: Hosting = await startHosting({ env: { ...env, HOME: home.path, BERTH_LOG_LEVEL: 'debug' } })
const scene = await setAttackScene(host, hosting, elsewhere)
const { owner, shop, wrong } = scene

const pushed = async (message: string) => {
  await host.push(repository, app(message))
  for (const end = Date.now() + 90_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 200)))
    if ((await hosting.get(`${shop.slug}.localhost`).catch(() => null))?.text.startsWith(message)) return
  wrong.push(`the push "${message}" is not live after 90 s`)
}
await pushed('before')
const real = {
  id: 'replayed-delivery',
  payload: {
    ref: 'refs/heads/main',
    after: await host.git.commit(repository, app('kept')),
    repository: { full_name: repository },
  },
}
await scene.deliver({ ...scene.hookOf(repository), ...real })
await pushed('after it')

const attacks = [
  ...deliveryAttacks(scene, real),
  ...forkAttacks(scene),
  ...journeyAttacks(scene),
  ...nameAttacks(scene),
  ...addressAttacks(scene, visits),
].filter(({ name }) => name.includes(values.only))
const results = new Map(attacks.map(({ name }) => [name, { times: 0, found: 0 }]))
const before = await scene.deployments(owner, shop)
for (let round = 1; round === 1 || Date.now() < endAt; round += 1) {
  for (const { name, run } of attacks) {
    const found = wrong.length
    await run().catch((error: Error) => wrong.push(`${name}: ${error.message}`))
    const result = results.get(name)!
    result.times += 1
    result.found += wrong.length - found
    for (const errorText of wrong.slice(found)) console.log(`${new Date().toISOString()} ${errorText}`)
    if (round > 1 && Date.now() > endAt) break
  }
}
const own = (await scene.request(owner, 'GET', `/projects/${shop.id}/deployments?environment=production&limit=100`)).body.data
  .length
if (own > before) wrong.push(`production was deployed ${own - before} times without a push`)
await pushed('at the end')
const given = host.calls.flatMap(({ token }) => token ?? [])
for (const canary of new Set([...Object.values(tokens), appSecret, ...given])) {
  if (hosting.berth.output().includes(canary)) wrong.push(`${canary} is in the log`)
  for (const file of await filesBelow(hosting.berth.dataFolder))
    if ((await readFile(file).catch(() => Buffer.alloc(0))).includes(canary)) wrong.push(`${canary} is in ${file}`)
}
console.log(
  table(
    ['attack', 'times', 'findings'],
    [...results].map(([name, { times, found }]) => [name, times, found]),
  ),
)
for (const words of new Set(wrong)) console.log(words)
process.exitCode = wrong.length === 0 ? 0 : 1

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
}
