import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type BuildPlan, emptyPlan } from '../build-plan.ts'
import type { Instance, Runtime } from '../runtime.ts'
import { createProcessRuntime } from './process-runtime.ts'
import { createControlGroup } from './processes/cgroup.ts'

const owner = { projectId: 'prj_full', deploymentId: 'dep_full', environment: 'production' }
const resources = { cpuCores: 1, memoryMb: 512, diskMb: 32 }
const neverAborted = new AbortController().signal
const plan: BuildPlan = { ...emptyPlan, language: 'node', port: 3000 }

/** A program that writes this many megabytes to a file, prints a line, and keeps running. */
const writing = (megabytes: number, open: string) => `
const fs = require('node:fs')
const file = ${open}
for (let n = 0; n < ${megabytes}; n++) fs.writeSync(file, Buffer.alloc(1024 * 1024, 1))
console.log('written')
setInterval(() => {}, 1000)
`

let folder: string
let runtime: Runtime
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-disk-'))
  await mkdir(join(folder, 'source'))
  runtime = createProcessRuntime({ folder: join(folder, 'processes'), environment: process.env })
})
afterEach(async () => {
  for (const { instanceId } of await runtime.list()) await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
  await runtime.close()
  await rm(folder, { recursive: true, force: true })
})

const build = (change: Partial<BuildPlan>) =>
  runtime.build(
    {
      ...{ owner, service: '', sourceFolder: join(folder, 'source'), secrets: {}, resources, timeoutMs: 60_000 },
      plan: { ...plan, ...change },
    },
    () => {},
    neverAborted,
  )

async function start(program: string): Promise<void> {
  await writeFile(join(folder, 'source', 'write.cjs'), program)
  const artifact = await build({ startCommand: 'node write.cjs' })
  await runtime.createVolume({ id: 'vol_full', projectId: owner.projectId, name: 'data' })
  await runtime.start(
    {
      ...{ instanceId: 'ins_full', owner, service: '', artifact, command: null, entrypoint: null, env: {}, port: 3000 },
      ...{ volumes: [{ id: 'vol_full', name: 'data', mountPath: '/data', readOnly: false }], network: null },
      ...{ resources, restart: true },
    },
    neverAborted,
  )
}

/**
 * Usually found at once. If another program frees as much of the same disk meanwhile, the check a minute after the start
 * finds it.
 */
const foundMs = 120_000

const ended = async (): Promise<Instance | undefined> => {
  const instance = await runtime.inspect('ins_full')
  return instance?.state === 'running' ? undefined : instance
}

/** Cases of the process runtime only. `suite/disk-suite.ts` has those of every runtime. */
describe('a project over its disk limit', () => {
  test.each([
    ['its temporary files', `fs.openSync('/tmp/big', 'w')`],
    ['its home', `fs.openSync(process.env.HOME + '/big', 'w')`],
  ])('is ended and stays ended: %s', async (where, open) => {
    // Without a sandbox, all users share /tmp.
    if (where === 'its temporary files' && runtime.isolation.kind !== 'bubblewrap') return
    await start(writing(48, open))
    await expect.poll(ended, { timeout: foundMs }).toMatchObject({ state: 'exited', diskFull: true, restarts: 0 })
  })

  const hasGroups = () => {
    const group = createControlGroup('berth-disk-test', { cpuCores: 1, memoryMb: 64, processes: 8 })
    group?.remove()
    return group !== null
  }
  test.skipIf(!hasGroups())('is ended also for an open deleted file', async () => {
    await start(writing(48, `(() => { const file = fs.openSync('big', 'w'); fs.rmSync('big'); return file })()`))
    await expect.poll(ended, { timeout: foundMs }).toMatchObject({ state: 'exited', diskFull: true })
  })

  test('is not ended below the limit, however often it overwrites its data', async () => {
    await start(`
      const fs = require('node:fs')
      for (let n = 0; n < 20; n++) fs.writeFileSync('big', Buffer.alloc(8 * 1024 * 1024, n))
      console.log('written')
      setInterval(() => fs.writeFileSync('big', Buffer.alloc(8 * 1024 * 1024)), 20)
    `)
    for await (const { message } of runtime.logs('ins_full', null, AbortSignal.timeout(120_000))) if (message === 'written') break
    const check = async () => (await runtime.inspect('ins_full'))?.state
    for (let n = 0; n < 20; n++) {
      expect(await check()).toBe('running')
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })
})
