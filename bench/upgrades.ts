import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Hosting, keepRequesting, startHosting, writeApp } from '../tests/kit/hosting.ts'
import { missingLines, numberedLinesApp, numberedLinesOf } from '../tests/kit/numbered-lines.ts'
import { npmEnvironment, packClone } from '../tests/kit/package-variants.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'
import { table } from './kit/table.ts'

/**
 * node bench/upgrades.ts [--runtime=process|docker] [--upgrades=3] [--connections=8]: upgrades an instance and rolls it back under
 * constant load, then upgrades to a broken version, then kills the control plane at each step of an upgrade. With BERTH_DATABASE_URL
 * on PostgreSQL. Fails if a request fails, if a project was restarted, if a line of its output is missing, or if the version that
 * serves is not the one in the record of the upgrade.
 */
const flag = (name: string, fallback: string) =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback
const runtime = flag('runtime', 'process')
if (runtime !== 'process' && runtime !== 'docker') throw new Error(`--runtime is ${runtime}: it must be process or docker`)
const upgrades = Number(flag('upgrades', '3'))
const connections = Number(flag('connections', '8'))
const killedAt = ['rehearse', 'backup', 'stop', 'copy', 'migrate', 'start']
const { BERTH_DATABASE_URL } = process.env

await using folder = await tempFolder('upgrades')
const packed = await packClone(folder.path)
const newer = await packed.variant('0.9.0')
const broken = await packed.variant('0.9.1', `if (process.argv[2] === 'up') process.exit(1)`)
const launcher = await packed.install()
await using hosting = await startHosting({
  runtime,
  launcher,
  env: { BERTH_SLEEP_AFTER_SECONDS: '86400', BERTH_ON_STOP: 'keep', ...(BERTH_DATABASE_URL ? { BERTH_DATABASE_URL } : {}) },
})
const project = await deployOne(hosting)
const load = keepRequesting(hosting.berth.edgeUrl, `${project.slug}.localhost`, { connections, everyMs: 1 })
const rows: (string | number)[][] = []
const problems: string[] = []

for (let round = 1; round <= upgrades; round++) {
  const [file, version] = round % 2 === 1 ? [newer, '0.9.0'] : [packed.file, packed.version]
  await measure(`upgrade to ${version}`, version, () => upgrade(file))
}
const current = await servingVersion()
await measure('upgrade to a broken version', current, () => upgrade(broken))
const [target, other] = current === packed.version ? [newer, '0.9.0'] : [packed.file, packed.version]
for (const state of killedAt) {
  if (state === 'rehearse' && BERTH_DATABASE_URL) continue
  await measure(`kill -9 at the step ${state}`, current, async () => {
    const ended = upgrade(target)
    while (recordOf().state !== state || recordOf().to !== other) await pause(2)
    await hosting.berth.kill9()
    await ended
    await hosting.berth.restart()
  })
}
await pause(2_000)
const { requests, failures, bodies } = await load.stop()
const counts = await numberedLinesOf(hosting, project.id)
const missing = missingLines(counts)
console.log(table(['event', 'seconds', 'version after it', 'outcome'], rows))
console.log(
  table(
    ['requests', 'failed', 'processes of the project', 'log lines missing'],
    [[requests, failures.length, bodies.size, missing.length]],
  ),
)
for (const problem of [...problems, ...new Set(failures)]) console.log(problem)
if (failures.length > 0 || bodies.size !== 1 || missing.length > 0 || problems.length > 0) process.exitCode = 1

async function measure(event: string, expected: string, work: () => Promise<unknown>): Promise<void> {
  const begun = performance.now()
  await work()
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  const version = await servingVersion()
  rows.push([event, seconds, version, recordOf().state ?? ''])
  if (version !== expected) problems.push(`${event}: ${version} serves instead of ${expected}`)
  await pause(1_000)
}

function recordOf(): { state?: string; to?: string } {
  try {
    return JSON.parse(readFileSync(join(hosting.berth.dataFolder, 'upgrade.json'), 'utf8'))
  } catch {
    return {}
  }
}

/** Returns the version that responds. After a failed upgrade it takes a moment until the instance responds again. */
async function servingVersion(): Promise<string> {
  for (;;) {
    try {
      return (await (await fetch(`${hosting.berth.url}/api/health`)).json()).data.version
    } catch {
      await pause(50)
    }
  }
}

function upgrade(file: string): Promise<void> {
  const env = { ...npmEnvironment(folder.path), BERTH_DATA_DIR: hosting.berth.dataFolder }
  return new Promise((resolve) => {
    execFile(process.execPath, [launcher, 'upgrade', '--to', file], { env }, (error, _, stderr) => {
      if (error?.code === 1 && !stderr.includes('The instance ended')) problems.push(stderr.trim())
      resolve()
    })
  })
}

async function deployOne({ folder: sources, makeProject, deploy, settled }: Hosting) {
  await writeApp(join(sources, 'app'), numberedLinesApp)
  const made = await makeProject({ name: 'upgrades', localPath: join(sources, 'app') })
  const deployment = await settled(await deploy(made.id))
  if (deployment.status !== 'live') throw new Error(`not live: ${JSON.stringify(deployment.error)}`)
  return made
}
