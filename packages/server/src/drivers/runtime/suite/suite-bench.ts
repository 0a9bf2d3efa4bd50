import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll } from 'vitest'
import { type BuildPlan, emptyPlan } from '../build-plan.ts'
import type { Artifact, BuildRequest, Instance, OutputLine, Runtime, StartRequest } from '../runtime.ts'
import { programText } from './suite-program.ts'

/** A runtime implementation under test. */
export interface Bench {
  /** Opens a runtime on the same state each time, as after a restart of the control plane. */
  open(): Runtime
  /** Removes everything that the suite created through the runtime. */
  cleanUp(): Promise<void>
  /** Null where this machine can enforce CPU and memory limits, else the reason why it cannot. */
  noLimits: string | null
}

export const neverAborted = new AbortController().signal
export const resources = { cpuCores: 1, memoryMb: 512, diskMb: 2000 }
const waitMs = 90_000

export type SuiteBench = ReturnType<typeof openSuiteBench>

/** Shared fixture of the suite: a project, an artifact of it, and helpers to build, start and stop. */
export function openSuiteBench(prepare: () => Promise<Bench>) {
  let bench: Bench
  let runtime: Runtime
  let source: string
  let artifact: Artifact
  const seed = randomBytes(5).toString('hex')
  const projectId = `prj_${seed}`
  const owner = (deployment = 'first') => ({ projectId, deploymentId: `dep_${seed}${deployment}`, environment: 'production' })
  let count = 0
  const newId = (prefix: string) => `${prefix}_${seed}${count++}`

  const plan: BuildPlan = {
    ...emptyPlan,
    language: 'javascript',
    packageManager: 'npm',
    startCommand: 'node program.cjs serve',
    port: 3000,
  }
  const lines: OutputLine[] = []
  const build = (
    deployment: string,
    changes: Partial<BuildPlan>,
    more: Partial<Pick<BuildRequest, 'timeoutMs' | 'secrets' | 'resources'>> & { environment?: string } = {},
  ) =>
    runtime.build(
      {
        owner: { ...owner(deployment), ...(more.environment ? { environment: more.environment } : {}) },
        service: '',
        sourceFolder: source,
        plan: { ...plan, ...changes },
        secrets: more.secrets ?? {},
        resources: more.resources ?? resources,
        timeoutMs: more.timeoutMs ?? 150_000,
      },
      (line) => lines.push(line),
      neverAborted,
    )
  const request = (changes: Partial<StartRequest> = {}): StartRequest => ({
    instanceId: newId('ins'),
    owner: owner(),
    service: '',
    artifact,
    command: null,
    entrypoint: null,
    env: {},
    port: 3000,
    volumes: [],
    network: null,
    resources,
    restart: false,
    ...changes,
  })
  const start = async (changes: Partial<StartRequest> = {}) => {
    const instance = await runtime.start(request(changes), neverAborted)
    if (instance.address) await until(async () => (await call(instance, 'env')) !== '')
    return instance
  }
  const stop = (instanceId: string, graceSeconds = 3) => runtime.stop(instanceId, { graceSeconds }, neverAborted)

  beforeAll(async () => {
    bench = await prepare()
    runtime = bench.open()
    source = await mkdtemp(join(tmpdir(), 'berth-suite-'))
    await writeFile(join(source, 'program.cjs'), programText)
    await writeFile(join(source, 'package.json'), '{"name":"suite","private":true}')
    artifact = await build('first', {})
  })

  afterAll(async () => {
    await runtime?.close()
    await bench?.cleanUp()
    if (source) await rm(source, { recursive: true, force: true })
  })

  return {
    get runtime() {
      return runtime
    },
    get artifact() {
      return artifact
    },
    get source() {
      return source
    },
    get noLimits() {
      return bench.noLimits
    },
    /** Opens a new runtime on the same state, as after a restart of the control plane. */
    async reopen() {
      await runtime.close()
      runtime = bench.open()
    },
    ...{ seed, projectId, owner, newId, plan, lines, build, request, start, stop },
  }
}

export async function call({ address }: Instance, what: string, q = ''): Promise<string> {
  const answer = await fetch(`http://${address?.host}:${address?.port}/${what}?q=${encodeURIComponent(q)}`, {
    headers: { connection: 'close' },
    signal: AbortSignal.timeout(30_000),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}

export async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + waitMs
  let last: unknown = 'it never held'
  while (performance.now() < deadline) {
    try {
      if (await holds()) return
    } catch (error) {
      last = error
    }
    await pause(100)
  }
  throw last instanceof Error ? last : new Error(String(last))
}

/** The first `count` lines after a position. */
export async function readAll(runtime: Runtime, instanceId: string, after: string | null, count: number) {
  const abort = new AbortController()
  const clock = setTimeout(() => abort.abort(), waitMs)
  const found: (OutputLine & { position: string })[] = []
  for await (const line of runtime.logs(instanceId, after, abort.signal)) {
    found.push(line)
    if (found.length >= count) break
  }
  clearTimeout(clock)
  abort.abort()
  return found
}

export async function collect(runtime: Runtime, instanceId: string): Promise<OutputLine[]> {
  const found: OutputLine[] = []
  for await (const line of runtime.logs(instanceId, null, AbortSignal.timeout(waitMs))) found.push(line)
  return found
}
