import { setTimeout as pause } from 'node:timers/promises'
import type { BackupRestore, BackupRun, Deployment } from '@berth/contract'
import { type Hosting, isOver, writeApp } from '../../../tests/kit/hosting.ts'
import { app, makeSoakProject, removeSoakProject, type SoakProject, waitFor } from './fleet.ts'

export interface Scene {
  hosting: Hosting
  fleet: readonly SoakProject[]
  /** The backup policy of each project that has one. */
  policies: ReadonlyMap<SoakProject, string>
  /** Aborts at the end of the run: chores then start no further work. */
  ending: AbortSignal
}

/** A kind of use, started at an interval, in rounds that may overlap. The report counts its results by text. */
export interface Chore {
  everySeconds: number
  atOnce: number
  run(scene: Scene, round: number): Promise<string>
}

const manners = ['good', 'good', 'crashing', 'good', 'unhealthy', 'good', 'cancelled', 'good', 'failing build'] as const

const sources: Record<(typeof manners)[number], (text: string) => string> = {
  good: app,
  crashing: () => `console.error('no database'); process.exit(3)`,
  unhealthy: (text) => app(text).replace("'/': (response) =>", "'/': (response) => response.writeHead(500) &&"),
  cancelled: (text) => `await new Promise((done) => setTimeout(done, 15_000))\n${app(text)}`,
  'failing build': app,
}
const expectedStatus: Record<(typeof manners)[number], string> = {
  good: 'live',
  crashing: 'failed',
  unhealthy: 'failed',
  cancelled: 'cancelled',
  'failing build': 'failed',
}

export const chores: Record<string, Chore> = {
  deployments: { everySeconds: 12, atOnce: 4, run: deploy },
  backups: { everySeconds: 15, atOnce: 2, run: backUp },
  restores: { everySeconds: 45, atOnce: 1, run: restore },
  streams: { everySeconds: 2, atOnce: 12, run: watchStream },
  crashes: { everySeconds: 20, atOnce: 1, run: crash },
  'projects made and deleted': { everySeconds: 30, atOnce: 1, run: makeAndDelete },
}

/** Deploys the next project that no other chore uses. A failed deployment must leave the previous version serving. */
async function deploy({ hosting, fleet }: Scene, round: number): Promise<string> {
  const project = take(fleet, round)
  if (!project) return 'skipped: all projects are taken'
  try {
    const manner = manners[round % manners.length] as (typeof manners)[number]
    const text = `version ${project.version + 1}`
    await writeApp(project.folder, sources[manner](text))
    const buildCommand = manner === 'failing build' ? 'node -e "process.exit(5)"' : null
    await expectStatus(hosting.api('PATCH', `/projects/${project.id}`, { buildCommand }), 200)
    const id = await hosting.deploy(project.id)
    if (manner === 'cancelled') await cancel(hosting, id)
    const { status, error } = await waitFor<Deployment>(hosting, `/deployments/${id}`, isOver)
    if (status !== expectedStatus[manner])
      throw new Error(`${project.name}, ${manner}: ended as ${status}, not ${expectedStatus[manner]}: ${error?.message ?? ''}`)
    if (status === 'live') project.version += 1
    const served = (await project.traffic.page('/')).text
    if (served !== `version ${project.version}`)
      throw new Error(`${project.name}, ${manner}: serves "${served.slice(0, 80)}", not version ${project.version}`)
    return `${manner}: ${status}`
  } finally {
    project.isTaken = false
  }
}

async function cancel(hosting: Hosting, id: string): Promise<void> {
  await waitFor<Deployment>(hosting, `/deployments/${id}`, ({ status }) => status !== 'queued')
  await pause(1500)
  await expectStatus(hosting.api('POST', `/deployments/${id}/cancel`), 200, 202)
}

async function backUp({ hosting, policies }: Scene, round: number): Promise<string> {
  const policy = [...policies.values()][round % policies.size] as string
  const answer = await hosting.api('POST', `/backup-policies/${policy}/run`)
  // A run of the policy or a restore of the project may be in progress.
  if (answer.status === 409) return 'refused: work in progress'
  if (answer.status !== 202) throw new Error(`backup: ${answer.status} ${JSON.stringify(answer.body)}`)
  return (await runEnded(hosting, answer.body.data.runId)).status
}

async function runEnded(hosting: Hosting, id: string): Promise<BackupRun> {
  const run = await waitFor<BackupRun>(hosting, `/backup-runs/${id}`, hasEnded)
  if (run.status !== 'succeeded') throw new Error(`backup run ${id} ended as ${run.status}: ${run.error?.message}`)
  return run
}

/** Writes a note to the volume, backs it up, overwrites it and restores: the note must be back. */
async function restore({ hosting, fleet, policies }: Scene, round: number): Promise<string> {
  const project = take(
    fleet.filter(({ role }) => role === 'restored'),
    round,
  )
  if (!project) return 'skipped: all projects are taken'
  try {
    const note = `note-${round}`
    await project.traffic.page(`/note?${note}`)
    const runId = await startOwnRun(hosting, policies.get(project) as string)
    await runEnded(hosting, runId)
    await project.traffic.page('/note?overwritten')
    const prepared = await expectStatus(hosting.api('POST', `/backup-runs/${runId}/restore/prepare`, {}), 201)
    project.traffic.expectDown()
    const { restoreId, confirmationToken } = prepared
    await expectStatus(hosting.api('POST', `/backup-restores/${restoreId}/apply`, { confirmationToken }), 202)
    const ended = await waitFor<BackupRestore>(hosting, `/backup-restores/${restoreId}`, hasEnded)
    if (ended.status !== 'succeeded') throw new Error(`restore ${restoreId} ended as ${ended.status}: ${ended.error?.message}`)
    await project.traffic.expectUp()
    const found = (await project.traffic.page('/note')).text
    if (found !== note) throw new Error(`${project.name}: the restored note is "${found.slice(0, 40)}", not "${note}"`)
    return ended.status
  } finally {
    project.isTaken = false
  }
}

/** A run that began after the note was written: a run that was in progress may have read the volume before. */
async function startOwnRun(hosting: Hosting, policyId: string): Promise<string> {
  for (const end = performance.now() + 60_000; ; await pause(250)) {
    const answer = await hosting.api('POST', `/backup-policies/${policyId}/run`)
    if (answer.status === 202) return answer.body.data.runId
    if (answer.status !== 409 || performance.now() > end)
      throw new Error(`backup: ${answer.status} ${JSON.stringify(answer.body)}`)
  }
}

/** Opens an event stream, reads for some seconds and disconnects, as a closed page does. */
async function watchStream({ hosting, fleet, ending }: Scene, round: number): Promise<string> {
  const { id } = fleet[round % fleet.length] as SoakProject
  const paths = [`/projects/${id}/logs/stream`, `/projects/${id}/server-logs/stream`, '/notifications/stream']
  const path = paths[round % paths.length] as string
  const abort = AbortSignal.any([AbortSignal.timeout(2000 + (round % 7) * 2000), ending])
  let bytes = 0
  try {
    for await (const chunk of await hosting.stream(path, abort)) bytes += chunk.length
    throw new Error(`${path} ended by itself after ${bytes} bytes`)
  } catch (error) {
    if (!abort.aborted) throw error
    return 'opened and closed'
  }
}

/** The app ends itself; Berth must restart it. */
async function crash({ fleet }: Scene, round: number): Promise<string> {
  const project = take(
    fleet.filter(({ role }) => role === 'crashing'),
    round,
  )
  if (!project) return 'skipped: all projects are taken'
  try {
    project.traffic.expectDown()
    await project.traffic.page('/exit').catch(() => undefined)
    await project.traffic.expectUp()
    return 'came back'
  } finally {
    project.isTaken = false
  }
}

async function makeAndDelete({ hosting }: Scene, round: number): Promise<string> {
  const project = await makeSoakProject(hosting, `short-lived-${round}`, 'short-lived')
  await pause(3000)
  await removeSoakProject(hosting, project)
  const { lost, answered } = project.traffic.count
  if (lost.length > 0 || answered === 0) throw new Error(`${project.name}: ${answered} answered, lost ${lost.join('; ')}`)
  await expectStatus(hosting.api('GET', `/projects/${project.id}`), 404)
  return 'made and deleted'
}

/** The first free project, beginning at the round's position; undefined if there is none. */
function take(projects: readonly SoakProject[], round: number): SoakProject | undefined {
  const turned = projects.map((_, at) => projects[(round + at) % projects.length] as SoakProject)
  const free = turned.find(({ isTaken }) => !isTaken)
  if (free) free.isTaken = true
  return free
}

const hasEnded = ({ status }: { status: string }) => ['succeeded', 'failed', 'cancelled', 'server_error'].includes(status)

async function expectStatus(answering: ReturnType<Hosting['api']>, ...statuses: number[]) {
  const { status, body } = await answering
  if (!statuses.includes(status))
    throw new Error(`answered ${status} instead of ${statuses.join(' or ')}: ${JSON.stringify(body)}`)
  return body.data
}
