// Cuts the connection to a server in the middle of every step of a deployment, and reports whether the deployment still ends correctly.
// node bench/server-cuts.ts [--seconds=30] [--manners=reset,silent] [--steps=build,start,health,…]
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Deployment } from '@berth/contract'
import { type Hosting, isOver, serving, startHosting, writeApp } from '../tests/kit/hosting.ts'
import { listOnServer } from '../tests/kit/runtimes.ts'
import { addServerBox, type ServerBox, serverImages } from '../tests/kit/server-box.ts'
import { table } from './kit/table.ts'

const flag = (name: string, fallback: string) =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback

const seconds = Number(flag('seconds', '30'))
const manners = flag('manners', 'reset,silent').split(',') as ('reset' | 'silent')[]
const steps = flag('steps', 'fetch,plan,build,start,health,switch,drain,retire').split(',')
const settledMs = 240_000

await using hosting = await startHosting({ env: serverImages() })
await using box = await addServerBox(hosting)
const rows: (string | number)[][] = []
for (const manner of manners)
  for (const step of steps) {
    const row = await cutAt(step, manner, hosting, box)
    console.log(row.join('  '))
    rows.push(row)
  }
console.log(`\n${table(['cut in', 'manner', 'ended as', 'serves', 'left over', 'seconds after the mending'], rows)}`)
process.exitCode = rows.every(([, , status, text, left]) => status === 'live' && text === 'two' && left === 0) ? 0 : 1

/** Deploys a project that is slow in every step, so that the link can be cut during the step. */
async function cutAt(
  step: string,
  manner: 'reset' | 'silent',
  { api, deploy, folder, get, ...on }: Hosting,
  { serverId, link }: ServerBox,
) {
  const name = `cut-${step}-${manner}`
  const source = serving('one', { afterMs: 1_500 })
  await writeApp(join(folder, name), source)
  const project = await on.makeProject({
    ...{ name, localPath: join(folder, name), startCommand: 'node server.js', serverId },
    buildCommand: 'node -e "setTimeout(() => {}, 1500)"',
    healthCheck: { path: '/', timeoutSeconds: 60 },
  })
  const first = await on.settled(await deploy(project.id))
  if (first.status !== 'live') throw new Error(JSON.stringify(first.error))
  await writeApp(join(folder, name), source.replace('"one"', '"two"'))
  const id = await deploy(project.id)
  const reached = ({ steps: all }: Deployment) => all.some((one) => one.name === step && one.status !== 'pending')
  await on.settled(id, (found) => reached(found) || found.status === 'failed')
  link.cut(manner)
  await pause(seconds * 1000)
  link.mend()
  const mended = performance.now()
  const status = await until(
    async () => (await on.deployment(id)).status,
    (found) => isOver({ status: found } as Deployment),
  )
  const text = await until(
    async () => (await get(`${project.slug}.localhost`)).text,
    (found) => found === 'two',
  )
  const [, old] = (await api('GET', `/projects/${project.id}/deployments`)).body.data as { id: string }[]
  const own = async () => (await listOnServer(on.berth.dataFolder, serverId)).filter((line) => line.startsWith('container'))
  const left = await until(
    async () => (await own()).filter((line) => line.includes(old?.id ?? '')).length,
    (count) => count === 0,
  )
  const took = (performance.now() - mended) / 1000
  await api('DELETE', `/projects/${project.id}?deleteVolumes=true`)
  return [step, manner, status, text, left, Number(took.toFixed(1))]
}

async function until<T>(check: () => Promise<T>, isGood: (found: T) => boolean): Promise<T> {
  for (const end = performance.now() + settledMs; ; await pause(200)) {
    const found = await check()
    if (isGood(found) || performance.now() > end) return found
  }
}
