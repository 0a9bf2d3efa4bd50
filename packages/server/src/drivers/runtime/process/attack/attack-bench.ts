import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type BuildPlan, emptyPlan } from '../../build-plan.ts'
import type { Runtime } from '../../runtime.ts'
import { createProcessRuntime } from '../process-runtime.ts'
import { openSandbox } from '../sandbox/open-sandbox.ts'
import type { IsolationKind } from '../sandbox/sandbox.ts'
import { attackText, fakeText, keyCalls, readKeyText, sayUser } from './attack-program.ts'

/**
 * `node attack-bench.ts <data folder> <isolation>` runs a victim and an attacker on one machine, as the current user, and
 * prints what the attacker found. It is a separate program so that a test can run it as another user.
 */
const [dataDir, kind] = process.argv.slice(2) as [string, IsolationKind]
const neverAborted = new AbortController().signal
const resources = { cpuCores: 1, memoryMb: 512, diskMb: 500 }
const mark = `late-${process.pid}`
const plan: BuildPlan = { ...emptyPlan, language: 'node', startCommand: 'sleep 600', port: 3000 }

const owner = (name: string) => ({ projectId: `prj_${name}`, deploymentId: `dep_${name}`, environment: 'production' })
const start = async (runtime: Runtime, name: string, env: Record<string, string>, change: Partial<BuildPlan>) => {
  const sourceFolder = join(dataDir, 'work', name)
  const whole = { ...plan, ...change }
  const requested = {
    owner: owner(name),
    service: '',
    sourceFolder,
    plan: whole,
    secrets: env,
    resources,
    timeoutMs: 60_000,
  }
  const artifact = await runtime.build(requested, ({ message }) => console.error(`${name}: ${message}`), neverAborted)
  const lateAfterBuild = commands().filter((line) => line.includes(mark)).length
  const volumes = [{ id: `vol_${name}`, name: 'data', mountPath: '/data', readOnly: false }]
  await runtime.createVolume({ id: `vol_${name}`, projectId: `prj_${name}`, name: 'data' })
  const rest = { service: '', command: null, entrypoint: null, port: null, network: null, resources, restart: false }
  await runtime.start({ ...rest, instanceId: `ins_${name}`, owner: owner(name), artifact, env, volumes }, neverAborted)
  return lateAfterBuild
}

const commands = () =>
  readdirSync('/proc').flatMap((pid) => {
    try {
      return /^\d+$/.test(pid) ? [readFileSync(`/proc/${pid}/cmdline`, 'utf8')] : []
    } catch {
      return []
    }
  })

function prepare(): void {
  for (const folder of ['work/victim', 'work/attacker', 'logs', 'canary']) mkdirSync(join(dataDir, folder), { recursive: true })
  // The mode that a careless umask gives them.
  for (const file of ['secret.key', 'berth.sqlite', 'logs/one', 'work/victim/private.txt'])
    writeFileSync(join(dataDir, file), `SECRET of ${file}`, { mode: 0o644 })
  const source = join(dataDir, 'work/attacker')
  writeFileSync(join(source, 'attack.cjs'), attackText)
  for (const folder of ['.venv/bin', 'node_modules/.bin']) {
    mkdirSync(join(source, folder), { recursive: true })
    for (const name of ['setpriv', 'sh', 'bwrap', 'mount', 'unshare', 'perl', 'env', 'id', 'cat', 'echo']) {
      writeFileSync(join(source, folder, name), fakeText(name))
      chmodSync(join(source, folder, name), 0o755)
    }
  }
  writeFileSync(join(source, 'startup.sh'), sayUser('startup'))
}

async function outputOf(runtime: Runtime): Promise<object> {
  const abort = AbortSignal.timeout(60_000)
  for await (const { message, stream } of runtime.logs('ins_attacker', null, abort))
    if (stream === 'stdout' && message.startsWith('{')) return JSON.parse(message)
  throw new Error('the attacking program printed no result')
}

const folder = join(dataDir, 'processes')
prepare()
const sandbox = openSandbox({ folder, dataDir, environment: process.env, kinds: [kind] })
const runtime = createProcessRuntime({ folder, environment: process.env, sandbox })
try {
  await start(runtime, 'victim', { VICTIM: 'SECRET of environ' }, {})
  writeFileSync(join(folder, 'volumes/vol_victim/file'), 'SECRET of volume')
  const victim = JSON.parse(readFileSync(join(folder, 'instances/ins_victim/record.json'), 'utf8')).process.pid as number
  const both = (path: string) => [join(folder, path), join('/run/berth', path)]
  const targets = {
    mark,
    victim,
    readKey: readKeyText,
    keyctl: keyCalls,
    files: [
      ...['secret.key', 'berth.sqlite', 'logs/one'].map((file) => join(dataDir, file)),
      ...both('artifacts/dep_victim/app/private.txt'),
      ...both('volumes/vol_victim/file'),
      ...both('instances/ins_victim/stdout.log'),
    ],
    folders: [dataDir, folder, ...both('homes/prj_victim'), ...both('artifacts'), '/root', '/home'],
    places: [join(dataDir, 'canary/direct'), ...both('volumes/vol_victim/file')],
  }
  const env = {
    TARGETS: JSON.stringify(targets),
    LD_DEBUG: 'statistics',
    LD_DEBUG_OUTPUT: join(dataDir, 'canary/loader'),
    LD_PRELOAD: '/no/such/library.so',
    BASH_ENV: 'startup.sh',
    ENV: 'startup.sh',
    IFS: 'e',
    PERL5OPT: '-Mno_such_module',
    EXACT: `a 'b' "c" $d\n\te=f\\ü€😀`,
  }
  const lateAfterBuild = await start(runtime, 'attacker', env, {
    buildCommand: 'node attack.cjs build',
    startCommand: 'node attack.cjs',
  })
  const found = await outputOf(runtime)
  await pause(50)
  const victimLives = (await runtime.inspect('ins_victim'))?.state === 'running'
  const canary = readdirSync(join(dataDir, 'canary'))
  console.log(JSON.stringify({ found, wanted: env, lateAfterBuild, victimLives, canary }))
} finally {
  for (const { instanceId } of await runtime.list()) await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
  await runtime.close()
}
