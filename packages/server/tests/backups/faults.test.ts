import { createHash, randomBytes } from 'node:crypto'
import type { BackupRun } from '@berth/contract'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Call, Fault } from '../../src/drivers/archive-store/test-faults.ts'
import { hasRequestedJobs } from '../kit/requested-jobs.ts'
import { type FaultyScene, setFaultyScene } from './faulty-scene.ts'

/** Every fault at every call that a run makes to its destination, once and permanently. */
const faults: Record<Exclude<Call, 'size'>, Fault[]> = {
  put: ['short_write', 'lies', 'full', 'denied', 'server_error', 'hang'],
  get: ['truncated_read', 'flipped_byte', 'denied', 'server_error', 'hang'],
  list: ['denied', 'server_error', 'hang'],
  remove: ['denied', 'server_error', 'hang'],
}
const cases = Object.entries(faults).flatMap(([on, all]) => all.map((fault) => [on as Call, fault] as const))

let scene: FaultyScene
let policyId: string
const large = randomBytes(50_000).toString('hex')
let files: Record<string, string>
let heard: string[]

beforeAll(async () => {
  scene = await setFaultyScene()
  const commands = { preCommand: 'freeze', postCommand: 'thaw' }
  policyId = (await scene.makePolicy({ ...commands, retainCount: 2 })).id
  await change()
  await scene.backUp(policyId)
})
afterAll(() => scene?.end())
beforeEach(() => {
  heard = []
  scene.instance.drivers.runtime.onExec = async ({ argv }) => {
    heard.push(argv.join(' '))
    return { exitCode: 0, stderrTail: '' }
  }
})

/** A file that stays, a file that is new each time, and more than one part. */
async function change(): Promise<void> {
  files = { 'kept.bin': large, 'new.txt': randomBytes(2_000).toString('hex') }
  await scene.fill(files)
}

async function callsOfGoodRun(): Promise<string[]> {
  await change()
  scene.place.disarm()
  const run = await scene.backUp(policyId)
  expect(run.status).toBe('succeeded')
  return [...scene.place.calls]
}

/** Invariants that must hold whatever happened. */
async function expectTruth(run: BackupRun, what: string): Promise<void> {
  expect(['succeeded', 'failed', 'server_error'], what).toContain(run.status)
  if (run.status === 'succeeded') expect(await scene.savedFiles(run.id), what).toEqual(hashesOf(files))
  else expect(run.error?.message, what).not.toBe('')
  expect(heard.join(' '), what).toMatch(/^(freeze thaw( |$))*$/)
  scene.place.disarm()
  await scene.pass(3_600_000)
  if (run.status !== 'succeeded')
    expect(
      scene.stored().filter((name) => name.includes(run.id)),
      what,
    ).toEqual([])
  expect((await scene.run(run.id)).status, what).toBe(run.status)
}

const hashesOf = (content: Record<string, string>) =>
  Object.fromEntries(Object.entries(content).map(([name, text]) => [name, createHash('sha256').update(text).digest('hex')]))

test.each(cases)('%s, %s: a run is complete, or fails and leaves nothing', async (on, fault) => {
  await scene.backUp(policyId)
  const calls = (await callsOfGoodRun()).filter((call) => call.startsWith(`${on} `))
  let hits = 0
  // The database makes no difference to the destination: one of the two is enough for transient faults.
  const often = scene.instance.database.kind === 'sqlite' ? [1, Number.POSITIVE_INFINITY] : [Number.POSITIVE_INFINITY]
  for (const after of calls.keys()) {
    for (const times of often) {
      const what = `${fault} ${times === 1 ? 'at' : 'from'} ${calls[after]}`
      await change()
      heard = []
      scene.place.disarm()
      scene.place.arm({ fault, on, after, times })
      const runId = await scene.start(policyId)
      // A run that found earlier ones damaged is repeated.
      for (let round = 0; round === 0 || (round < 3 && (await hasRequestedJobs(scene.instance.database))); round += 1)
        await scene.pass(3_600_000)
      const run = await scene.run(runId)
      hits += scene.place.hits.length
      await expectTruth(run, what)
    }
  }
  expect(calls.length).toBeGreaterThan(0)
  expect(hits).toBeGreaterThanOrEqual(calls.length)
})
