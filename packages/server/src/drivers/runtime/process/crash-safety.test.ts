import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type BuildPlan, emptyPlan } from '../build-plan.ts'
import type { Runtime, StartRequest } from '../runtime.ts'
import { createProcessRuntime } from './process-runtime.ts'
import { isAlive } from './processes/process-table.ts'
import { firstStage } from './sandbox/launch-script.ts'

const owner = { projectId: 'prj_one', deploymentId: 'dep_one', environment: 'production' }
const resources = { cpuCores: 1, memoryMb: 256, diskMb: 256 }
const neverAborted = new AbortController().signal
const plan: BuildPlan = { ...emptyPlan, language: 'node', startCommand: 'sleep 600', port: 3000 }

let folder: string
let source: string
const runtimes: Runtime[] = []
const open = () => {
  const runtime = createProcessRuntime({ folder: join(folder, 'processes'), environment: process.env })
  runtimes.push(runtime)
  return runtime
}
beforeEach(async () => {
  // Below /tmp itself: the user of a project must be able to pass through.
  folder = await mkdtemp(join(tmpdir(), 'berth-process-'))
  source = join(folder, 'source')
  await mkdir(source)
  await writeFile(join(source, 'file'), '')
})
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) {
    for (const { instanceId } of await runtime.list()) await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
    await runtime.close()
  }
  await rm(folder, { recursive: true, force: true })
})

const build = (runtime: Runtime, change: Partial<BuildPlan> = {}) =>
  runtime.build(
    {
      owner,
      service: '',
      sourceFolder: source,
      plan: { ...plan, ...change },
      secrets: {},
      resources,
      timeoutMs: 60_000,
    },
    () => {},
    neverAborted,
  )
const requestFor = async (runtime: Runtime): Promise<StartRequest> => ({
  ...{ instanceId: 'ins_one', owner, service: '', command: null, entrypoint: null, env: {}, port: 3000, volumes: [] },
  ...{ network: null, resources, restart: true, artifact: await build(runtime) },
})

/** Starts the instance in a control plane of its own process and kills that process, which stops its supervision as a crash does. */
async function startAndKill(): Promise<void> {
  const program = `import { createProcessRuntime } from ${JSON.stringify(new URL('./process-runtime.ts', import.meta.url).href)}
    const [folder, request] = JSON.parse(process.argv[1])
    const runtime = createProcessRuntime({ folder, environment: process.env })
    await runtime.start(request, new AbortController().signal)
    console.log('started')
    setInterval(() => {}, 1000)`
  const orders = JSON.stringify([join(folder, 'processes'), await requestFor(open())])
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program, orders], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const started = await Promise.race([
    once(child.stdout, 'data').then(([data]) => String(data).trim()),
    ended.then(() => 'ended'),
  ])
  child.kill('SIGKILL')
  await ended
  expect(started).toBe('started')
}

const recordFile = () => join(folder, 'processes', 'instances', 'ins_one', 'record.json')
const record = async () => JSON.parse(await readFile(recordFile(), 'utf8'))

test('an instance whose record cannot be written (a full disk) is still restarted, and its record is written later', async () => {
  const runtime = open()
  const request = await requestFor(runtime)
  await runtime.start(request, neverAborted)
  const { process: before } = await record()
  // A folder in the place of the draft fails every write, as root too.
  const draft = `${recordFile()}.${process.pid}`
  await mkdir(draft)
  process.kill(before.pid, 'SIGKILL')
  await expect
    .poll(() => runtime.list(), { timeout: 20_000 })
    .toMatchObject([{ instanceId: 'ins_one', state: 'running', restarts: 1 }])
  expect((await record()).process).toEqual(before)
  await rm(draft, { recursive: true })
  await expect.poll(record, { timeout: 20_000 }).toMatchObject({ restarts: 1, lastEnd: { exitCode: expect.any(Number) } })
  expect(isAlive((await record()).process)).toBe(true)
})

describe('after a killed control plane', () => {
  test('an instance is found again and stopped with all its processes', async () => {
    await startAndKill()
    const { process: identity } = await record()
    const second = open()
    expect(await second.list()).toMatchObject([{ instanceId: 'ins_one', state: 'running' }])
    await second.stop('ins_one', { graceSeconds: 1 }, neverAborted)
    expect(isAlive(identity)).toBe(false)
    expect(await readdir(join(folder, 'processes', 'instances'))).toEqual([])
  })

  test('a started process that was not recorded yet is found by its own record', async () => {
    await startAndKill()
    const noted = await record()
    await expect
      .poll(() => readFile(join(recordFile(), '..', 'process'), 'utf8').catch(() => ''))
      .toContain(String(noted.process.pid))
    await writeFile(recordFile(), JSON.stringify({ ...noted, process: null, startedAt: null }))
    const second = open()
    expect(await second.inspect('ins_one')).toMatchObject({ state: 'running' })
    expect((await record()).process).toEqual(noted.process)
    expect(await second.start(await requestFor(second), neverAborted)).toMatchObject({ state: 'running' })
    expect((await record()).process).toEqual(noted.process)
  })

  test('a running build is ended, and its files are removed', async () => {
    open()
    const half = join(folder, 'processes', 'artifacts', 'dep_half')
    await mkdir(join(half, 'app'), { recursive: true })
    const stage = { processFile: join(half, 'build.process'), groupFolders: [], mount: null }
    const [launch, ...words] = firstStage(stage, ['/bin/sleep', '600'])
    const child = spawn(launch as string, words, { detached: true, stdio: 'ignore' })
    const ended = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)))
    await expect.poll(() => readFile(join(half, 'build.process'), 'utf8').catch(() => '')).toContain(String(child.pid))
    open()
    expect(await ended).toBe('SIGKILL')
    expect(await readdir(join(folder, 'processes', 'artifacts'))).toEqual([])
  })
})

test('two concurrent starts of one instance start it once', async () => {
  const runtime = open()
  const request = await requestFor(runtime)
  const [one, other] = await Promise.all([runtime.start(request, neverAborted), runtime.start(request, neverAborted)])
  expect(one?.address).toEqual(other?.address)
  expect(await runtime.list()).toHaveLength(1)
})

test('the last output is delivered before a stop resolves', async () => {
  const runtime = open()
  const request = {
    ...(await requestFor(runtime)),
    command: ['sh', '-c', 'trap "echo bye; exit 0" TERM; echo hello; while :; do sleep 0.1; done'],
  }
  await runtime.start(request, neverAborted)
  const lines: string[] = []
  const reading = (async () => {
    for await (const { message } of runtime.logs('ins_one', null, neverAborted)) lines.push(message)
  })()
  await expect.poll(() => lines).toEqual(['hello'])
  await runtime.stop('ins_one', { graceSeconds: 5 }, neverAborted)
  expect(lines).toContain('bye')
  await reading
})
