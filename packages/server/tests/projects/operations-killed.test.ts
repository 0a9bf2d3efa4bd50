// gate: also on PostgreSQL, since jobs of a dead process come back when their lease ends
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operationKinds } from '../../src/modules/projects/operations/conflict-table.ts'
import { leaseMs } from '../../src/modules/projects/operations/leased-operation.ts'
import type { OperationKind } from '../../src/platform/db/tables/projects.ts'
import { tarOf } from '../backups/scene.ts'
import { sampled } from '../kit/before-sql.ts'
import { Lives } from '../kit/lives.ts'
import { hasRequestedJobs } from '../kit/requested-jobs.ts'
import { current, type OperationsScene, type Subject, setOperationsScene } from './operations-scene.ts'

/**
 * The control plane dies while the first operation is running and the second one was requested, at another step in each cell. The
 * next one takes over: no operation is left running, and data, routes and records agree.
 */

/** The schedules that finish what a dead control plane began. */
const finishing = ['projects.sweep-operations', 'transfers.sweep', 'backups.prune-all', 'backups.key', 'jobs.prune']
let moved = 0
let scene: OperationsScene
let lives: Lives
let subject: Subject
beforeAll(async () => {
  scene = await setOperationsScene({ clock: { now: () => new Date(Date.now() + moved) } })
  subject = await scene.makeSubject()
  await scene.instance.jobs.stop({ graceMs: 1_000 })
  lives = new Lives(scene.instance)
  lives.keptSchedules = finishing
})
afterAll(async () => {
  await lives?.end()
  await scene?.end()
})

/** Operations that a process holds by a lease die with it: they only share `runLeasedOperation` with the table. */
const begun = operationKinds.filter((kind) => !['recover', 'wake', 'sleep', 'change'].includes(kind))
const db = () => scene.instance.database.db

const requested = operationKinds.filter((kind) => !['recover', 'wake', 'sleep'].includes(kind))
const pairs = begun.flatMap((first) => requested.map((second) => [first, second] as const))

describe('killed while', () => {
  test.each(sampled(pairs))('%s is under way and %s was requested', async (first, second) => {
    const cell = begun.indexOf(first) * operationKinds.length + operationKinds.indexOf(second)
    // A step of the jobs: a transaction, before it or after it.
    const life = await lives.start(1 + (cell % 17))
    const target = { app: life.plane.app }
    const answered = Promise.withResolvers<void>()
    const firstAnswer = scene.perform(first, subject, target).finally(answered.resolve)
    const watching = rowAppears(first, answered.promise, life.died.promise)
    const answers = [firstAnswer, watching.then(() => scene.perform(second, subject, target))]
    for (const answer of answers) answer.catch(() => undefined)
    await Promise.race([Promise.allSettled(answers).then(() => lives.idle(life)), life.died.promise])
    // A deletion waits in real time for a lease that has not expired.
    if (first === 'delete' || second === 'delete') moved += leaseMs
    await takeOver()
    await expectAgreement(`${first}, then ${second}, killed at step ${1 + (cell % 17)}`)
  })
})

/** Resolves when the operation is running, was answered, or its control plane is dead. */
async function rowAppears(kind: OperationKind, ...orElse: Promise<void>[]): Promise<void> {
  let isOver = false
  for (const one of orElse) one.then(() => (isOver = true))
  while (!isOver && (await scene.rows(subject)).every((row) => row.kind !== kind)) await pause(5)
}

/**
 * Another control plane takes over, and time passes; moves without a driving client are cancelled. On PostgreSQL the jobs of the
 * dead one come back when their lease has expired, so rounds continue until no operation is running.
 */
async function takeOver(): Promise<void> {
  const life = await lives.start()
  for (let round = 0; round === 0 || (round < 60 && (await isUnderWay())); round += 1) {
    if (round >= 3) await pause(250)
    moved += 3_600_000
    scene.instance.database.signals.publish('jobs', { due: true })
    await life.plane.jobs.whenIdle()
  }
  await lives.end()
}

const isUnderWay = async (): Promise<boolean> =>
  (await hasRequestedJobs(scene.instance.database)) ||
  (await scene.rows(subject)).length > 0 ||
  (await underWay()).some((rows) => rows.length > 0)

const underWay = () =>
  Promise.all([
    db().selectFrom('deployments').select('id').where('status', 'in', ['queued', 'building', 'deploying']).execute(),
    db().selectFrom('backupRuns').select('id').where('finishedAt', 'is', null).execute(),
    db().selectFrom('backupRestores').select('id').where('status', '=', 'applying').execute(),
    db().selectFrom('transferEnds').select('id').where('state', 'not in', ['departed', 'aborted']).execute(),
  ])

async function expectAgreement(what: string): Promise<void> {
  expect([what, await scene.rows(subject)]).toEqual([what, []])
  const under = await underWay()
  expect([what, ...under]).toEqual([what, [], [], [], []])
  const { runtime, edge } = scene.instance.drivers
  const running = [...runtime.running.values()].filter(({ instance }) => instance.owner.projectId === subject.id)
  const row = await db().selectFrom('projects').selectAll().where('id', '=', subject.id).executeTakeFirst()
  if (!row) {
    expect([what, running]).toEqual([what, []])
    return renew()
  }
  expect([what, row.presence, row.deletingSince]).toEqual([what, 'here', null])
  const live = await db().selectFrom('liveEnvironments').selectAll().where('projectId', '=', subject.id).executeTakeFirst()
  const state = row.enabled ? 'live' : 'stopped'
  expect([what, live?.state, running.length]).toEqual([what, state, row.enabled ? 1 : 0])
  if (row.enabled) {
    expect([what, running[0]?.instance.owner.deploymentId]).toEqual([what, live?.deploymentId])
    expect([what, edge.table.hosts[`${subject.slug}.localhost`]?.target.kind]).toEqual([what, 'upstreams'])
    subject.liveId = live?.deploymentId as string
  }
  const restore = await db()
    .selectFrom('backupRestores')
    .select(['status', 'dataState'])
    .where('projectId', '=', subject.id)
    .where('startedAt', 'is not', null)
    .orderBy('createdAt', 'desc')
    .executeTakeFirst()
  const isRestored = (await scene.volume(subject)) === 'saved'
  if (isRestored) expect([what, restore?.dataState]).toEqual([what, 'restored'])
  runtime.volumes.set(subject.volumeId, await tarOf(current))
  if (!row.enabled) await enableAgain(what)
}

async function enableAgain(what: string): Promise<void> {
  const life = await lives.start()
  expect([what, (await scene.perform('enable', subject, { app: life.plane.app })).status]).toEqual([what, 200])
  await life.plane.jobs.whenIdle()
  await lives.end()
  const live = await db().selectFrom('liveEnvironments').selectAll().where('projectId', '=', subject.id).executeTakeFirst()
  expect([what, live?.state]).toEqual([what, 'live'])
  subject.liveId = live?.deploymentId as string
}

async function renew(): Promise<void> {
  const life = await lives.start()
  subject = await scene.makeSubject()
  await life.plane.jobs.whenIdle()
  await lives.end()
}
