import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freePorts } from '../tests/kit/free-port.ts'
import { startHosting } from '../tests/kit/hosting.ts'
import { median } from './kit/median.ts'
import { ratio, table } from './kit/table.ts'

/**
 * Time from the request for a deployment of `examples/node` until it is live, and how much each step takes, beside the time that
 * Node alone takes from its start to the first answer of the same program. Both in turns in one run.
 */
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '15' }, profile: { type: 'string' } } })
const rounds = Number(values.rounds)

await using hosting = await startHosting(
  values.profile ? { env: { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${values.profile}` } } : {},
)
const localPath = await hosting.copyExample('node')
const { id } = await hosting.makeProject({ name: 'example', localPath })
const stream = new AbortController()
const plain: number[] = []
const live: number[] = []
const steps = new Map<string, number[]>()
for (let round = 0; round <= rounds; round++) {
  const plainMs = await plainStart()
  const begun = performance.now()
  const deploymentId = await hosting.deploy(id)
  const acceptedMs = performance.now() - begun
  await lastEvent(deploymentId)
  const liveMs = performance.now() - begun
  const deployment = await hosting.settled(deploymentId)
  if (deployment.status !== 'live') throw new Error(`the deployment is ${deployment.status}`)
  // The first round warms up.
  if (round === 0) continue
  plain.push(plainMs)
  live.push(liveMs)
  add('answer to the request', acceptedMs)
  add('queue', Date.parse(deployment.startedAt!) - Date.parse(deployment.createdAt))
  for (const { name, startedAt, finishedAt } of deployment.steps)
    if (startedAt && finishedAt) add(`step ${name}`, Date.parse(finishedAt) - Date.parse(startedAt))
}
stream.abort()
const rows = [...steps].map(([name, ms]) => [name, median(ms), ratio(median(ms), median(plain))])
console.log(
  table(
    ['median of rounds', 'ms', 'of the plain start'],
    [
      ['plain start until the first answer', median(plain), ratio(1, 1)],
      ['request until live', median(live), ratio(median(live), median(plain))],
      ['fastest', Math.min(...live), ratio(Math.min(...live), Math.min(...plain))],
      ...rows,
    ],
  ),
)

function add(name: string, ms: number): void {
  steps.set(name, [...(steps.get(name) ?? []), ms])
}

/** Resolves with the event that ends the deployment's stream, or when the deployment is live. */
async function lastEvent(deploymentId: string): Promise<void> {
  const abort = new AbortController()
  let text = ''
  for await (const chunk of await hosting.stream(`/deployments/${deploymentId}/stream`, abort.signal)) {
    text += Buffer.from(chunk).toString()
    if (text.includes('"status":"live"')) break
  }
  abort.abort()
}

/** Milliseconds from the start of Node on the example until its first answer. */
async function plainStart(): Promise<number> {
  const [port] = await freePorts(1)
  const begun = performance.now()
  const env = { ...process.env, PORT: String(port) }
  const child = spawn(process.execPath, [join(localPath, 'server.js')], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  await (await fetch(`http://127.0.0.1:${port}/`)).text()
  const ms = performance.now() - begun
  child.kill('SIGKILL')
  return ms
}
