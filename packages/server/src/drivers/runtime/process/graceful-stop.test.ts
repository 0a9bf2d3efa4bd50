import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { emptyPlan } from '../build-plan.ts'
import type { Runtime } from '../runtime.ts'
import { createProcessRuntime } from './process-runtime.ts'
import { openSandbox } from './sandbox/open-sandbox.ts'
import type { IsolationKind } from './sandbox/sandbox.ts'
import { systemProgram } from './sandbox/system-programs.ts'

const owner = { projectId: 'prj_grace', deploymentId: 'dep_grace', environment: 'production' }
const resources = { cpuCores: 1, memoryMb: 512, diskMb: 512 }
const neverAborted = new AbortController().signal
const isRoot = process.getuid?.() === 0
const ways: { kind: IsolationKind; skip: boolean }[] = [
  { kind: 'bubblewrap', skip: systemProgram('bwrap') === null },
  { kind: 'own-users', skip: !isRoot },
  { kind: 'none', skip: isRoot },
]

/** Exits a second after SIGTERM and prints that; with an argument it never exits. */
const program = `
process.on('SIGTERM', () => {
  console.log('asked')
  if (!process.argv[2]) setTimeout(() => { console.log('ended'); process.exit(0) }, 1000)
})
console.log('ready')
setInterval(() => {}, 1000)
`
/** A parent that exits at once on SIGTERM, as npm does, while the program is still running. */
const started = (args: string) => ['/bin/sh', '-c', `trap 'exit 0' TERM; node program.cjs ${args} & wait`]

describe.each(ways)('a graceful stop, isolation $kind', ({ kind, skip }) => {
  let folder: string
  let runtime: Runtime
  beforeEach(async (context) => {
    if (skip) context.skip()
    folder = await mkdtemp(join('/tmp', 'berth-grace-'))
    await mkdir(join(folder, 'source'))
    await writeFile(join(folder, 'source', 'program.cjs'), program)
    const { env: environment } = process
    const path = join(folder, 'processes')
    const sandbox = openSandbox({ folder: path, dataDir: path, environment, kinds: [kind] })
    runtime = createProcessRuntime({ folder: path, environment, sandbox })
  })
  afterEach(async () => {
    for (const { instanceId } of (await runtime?.list()) ?? []) await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
    await runtime?.close()
    if (folder) await rm(folder, { recursive: true, force: true })
  })

  /** Starts the program, stops it when it is ready, and returns its output. */
  async function stopped(command: string[], graceSeconds: number): Promise<string[]> {
    const plan = { ...emptyPlan, language: 'node', port: 3000 }
    const more = { owner, service: '', resources }
    const source = { sourceFolder: join(folder, 'source'), secrets: {}, timeoutMs: 60_000, plan }
    const artifact = await runtime.build({ ...more, ...source }, () => {}, neverAborted)
    const run = { instanceId: 'ins_grace', artifact, command, entrypoint: null, env: {}, port: null, volumes: [], network: null }
    await runtime.start({ ...more, ...run, restart: true }, neverAborted)
    const output: string[] = []
    let stopping: Promise<void> | undefined
    for await (const { message } of runtime.logs('ins_grace', null, AbortSignal.timeout(60_000))) {
      output.push(message)
      if (message === 'ready') stopping = runtime.stop('ins_grace', { graceSeconds }, neverAborted)
    }
    await stopping
    return output
  }

  test('lasts until the program has ended, not only its launcher', async () => {
    expect(await stopped(started(''), 30)).toEqual(['ready', 'asked', 'ended'])
  })

  test('ends at the time limit', async () => {
    expect(await stopped(started('never'), 1)).toEqual(['ready', 'asked'])
    expect(await runtime.inspect('ins_grace')).toBeUndefined()
  })
})
