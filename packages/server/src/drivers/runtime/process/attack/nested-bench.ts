import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { emptyPlan } from '../../build-plan.ts'
import { createProcessRuntime } from '../process-runtime.ts'
import { openSandbox } from '../sandbox/open-sandbox.ts'

/**
 * `node nested-bench.ts <data folder>` starts a project whose links try to lead its volumes out of the sandbox, as the current
 * user, and prints the outcomes. It is a separate program so that a test can run it as another user.
 */
const [dataDir] = process.argv.slice(2) as [string]
const neverAborted = new AbortController().signal
const resources = { cpuCores: 1, memoryMb: 256, diskMb: 200 }
const outside = join(dataDir, 'outside')
const folder = join(dataDir, 'runtime')
const source = join(dataDir, 'source')
for (const path of [outside, source]) mkdirSync(path, { recursive: true })

// The paths that bubblewrap has for the machine and for the sandbox while it mounts.
const links = { old: `/oldroot${outside}`, up: `../../../../../../../../oldroot${outside}`, programs: '/usr/bin', missing: '/no' }
const addLinks = (to: string) => {
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(to, name))
  writeFileSync(join(to, 'file'), '')
}
addLinks(source)
const sandbox = openSandbox({ folder, dataDir, environment: process.env, kinds: ['bubblewrap'] })
const runtime = createProcessRuntime({ folder, environment: process.env, sandbox })
const owner = { projectId: 'prj_nested', deploymentId: 'dep_nested', environment: 'production' }
const plan = { ...emptyPlan, language: 'shell', startCommand: 'sleep 600', port: 3000 }
const artifact = await runtime.build(
  { owner, service: '', sourceFolder: source, plan, secrets: {}, resources, timeoutMs: 60_000 },
  () => undefined,
  neverAborted,
)

/** A volume whose programs would run with Berth's privileges if they covered the machine's. */
const volumeFolder = async (id: string) => {
  await runtime.createVolume({ id, projectId: owner.projectId, name: id })
  return join(folder, 'volumes', id)
}
const fakes = await volumeFolder('vol_fakes')
for (const name of ['setpriv', 'perl', 'mkdir', 'sh', 'bwrap']) {
  writeFileSync(join(fakes, name), `#!/usr/bin/perl\nopen(my $f, '>', '/run/berth/nested/0/ran'); print $f "$<";\n`)
  chmodSync(join(fakes, name), 0o755)
}
addLinks(await volumeFolder('vol_outer'))

let count = 0
const outcome = async (mountPath: string) => {
  const instanceId = `ins_${count++}`
  const outer = { id: 'vol_outer', name: 'outer', mountPath: '/data', readOnly: false }
  const volumes = [outer, { id: 'vol_fakes', name: 'fakes', mountPath, readOnly: false }]
  const rest = { service: '', command: null, entrypoint: null, port: null, network: null, resources, restart: false }
  await runtime.start({ ...rest, instanceId, owner, artifact, env: {}, volumes }, neverAborted)
  while ((await runtime.inspect(instanceId))?.state === 'running' && !(await isProgramRunning(instanceId))) await pause(50)
  const { state, exitCode } = (await runtime.inspect(instanceId)) ?? {}
  const text: string[] = []
  if (state === 'exited')
    for await (const { message } of runtime.logs(instanceId, null, AbortSignal.timeout(5_000))) text.push(message)
  await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
  return { mountPath, state, exitCode, text: text.join('\n') }
}
/** Whether the chain of stages has become the project's program. */
const isProgramRunning = async (instanceId: string) =>
  (await runtime.exec(instanceId, { argv: ['true'] }, neverAborted).catch(() => null))?.exitCode === 0

const outcomes = []
for (const base of ['/app', '/data'])
  for (const name of ['old', 'old/deep', 'up/deep', 'programs', 'missing/deep', 'file', 'folder', 'folder/deep'])
    outcomes.push(await outcome(`${base}/${name}`))
await runtime.close()
console.log(JSON.stringify({ outcomes, outside: readdirSync(outside), ran: existsSync(join(fakes, 'ran')) }))
