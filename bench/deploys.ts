import { deployUnderLoad, type Manner, problemsOf } from '../tests/kit/deploy-mix.ts'
import { type HostingOptions, startHosting } from '../tests/kit/hosting.ts'
import { addServerBox, serverImages } from '../tests/kit/server-box.ts'
import { startSwarm, swarmSettings } from '../tests/kit/swarm.ts'
import { table } from './kit/table.ts'

/** node bench/deploys.ts [--deployments=50] [--runtime=process|docker|server|swarm] [--edge=embedded|nginx]: good and bad deployments of one project under constant load. */
const flag = (name: string, fallback: string) =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback

const count = Number(flag('deployments', '50'))
const runtime = flag('runtime', 'process')
if (runtime !== 'process' && runtime !== 'docker' && runtime !== 'server' && runtime !== 'swarm')
  throw new Error(`--runtime is ${runtime}: it must be process, docker, server or swarm`)
const edge = flag('edge', 'embedded')
const env = { BERTH_EDGE: edge }
await using swarm = runtime === 'swarm' ? await startSwarm() : null
const isOnServer = runtime === 'server'
const options = (): HostingOptions => {
  if (swarm) return { env: { ...swarmSettings(swarm), ...env } }
  return runtime === 'process' || runtime === 'docker' ? { runtime, env } : { env: { ...serverImages(), ...env } }
}
await using hosting = await startHosting(options())
await using box = isOnServer ? await addServerBox(hosting) : null
const begun = performance.now()
const result = await deployUnderLoad(hosting, count, { everyMs: 2, ...(box && { serverId: box.serverId }) })
const { outcomes, load } = result
const seconds = (performance.now() - begun) / 1000

const byManner = Map.groupBy(outcomes, ({ manner }) => manner)
const rows = [...byManner].map(([manner, all]: [Manner, typeof outcomes]) => {
  const ended = [...Map.groupBy(all, ({ deployment }) => deployment.status)].map(([status, some]) => `${some.length} ${status}`)
  const during = all.flatMap(({ deployment }) => deployment.requestsDuringSwitch ?? [])
  const sum = (of: 'total' | 'failed') => during.reduce((total, one) => total + one[of], 0)
  const took = all.map(({ seconds: one }) => one).sort((left, right) => left - right)
  const median = (took[Math.floor(took.length / 2)] ?? 0).toFixed(1)
  return [manner, all.length, ended.join(', '), median, sum('total'), sum('failed')] as const
})
console.log(table(['deployments', 'count', 'ended as', 'median s', 'requests during the switch', 'of these failed'], rows))
console.log(`\n${load.requests} requests in ${Math.round(seconds)} s, failed: ${load.failures.length}`)
const problems = problemsOf(result)
console.log(problems.length === 0 ? 'after each bad one the previous version served' : problems.slice(0, 20).join('\n'))
process.exitCode = problems.length === 0 ? 0 : 1
