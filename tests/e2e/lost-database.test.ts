import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { BackupRestore } from '@berth/contract'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../packages/server/src/platform/test-database.ts'
import { type Backups, backupsOf } from '../kit/backups.ts'
import { type Hosting, startHosting, writeApp } from '../kit/hosting.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'
import { startWeakLink, type WeakLink } from '../kit/weak-link.ts'

/** Keeps a text in its volume: `/?text` writes it, with 48 MB beside it, `/` reads it. */
const app = `
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
const folder = process.env.BERTH_VOLUME_DATA
if (!existsSync(join(folder, 'text'))) writeFileSync(join(folder, 'text'), 'new')
createServer((request, response) => {
  const text = new URL(request.url, 'http://x').search.slice(1)
  if (text) {
    writeFileSync(join(folder, 'text'), text)
    for (let at = 0; at < 6; at++) writeFileSync(join(folder, 'big-' + at), randomBytes(8e6))
  }
  response.end(readFileSync(join(folder, 'text')))
}).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`
/** Long enough to be interrupted. */
const buildCommand = `node -e "setTimeout(() => {}, 2000)"`
const leaseSeconds = 2

describeNeeding(['postgres'], 'a control plane that is paused past its lease, or cut off from PostgreSQL', () => {
  let database: TestDatabase
  let link: WeakLink
  let hosting: Hosting
  let backups: Backups
  let project: { id: string; slug: string }
  let policyId: string

  beforeAll(async () => {
    process.env.BERTH_TEST_POSTGRES_URL ??= partOf('postgres')
    database = await openTestDatabase({ kind: 'postgres' })
    const url = new URL(database.settings.url!)
    link = await startWeakLink(Number(url.port || 5432))
    url.host = `127.0.0.1:${link.port}`
    hosting = await startHosting({
      env: {
        BERTH_DATABASE_URL: url.href,
        BERTH_SECRET_KEY: randomBytes(32).toString('hex'),
        BERTH_JOB_LEASE_SECONDS: String(leaseSeconds),
      },
    })
    backups = backupsOf(hosting)
    const localPath = join(hosting.folder, 'app')
    await writeApp(localPath, app)
    const volumes = [{ name: 'data', mountPath: '/data' }]
    project = await hosting.makeProject({ name: 'Kept', localPath, volumes, buildCommand })
    expect((await hosting.settled(await hosting.deploy(project.id))).error).toBeNull()
    const destinationId = await backups.destination('local', { path: 'nightly' })
    policyId = await backups.policy(project.id, { destinationId })
  })
  afterEach(() => link.mend())
  afterAll(async () => {
    await hosting?.[Symbol.asyncDispose]()
    await link?.[Symbol.asyncDispose]()
    await database?.close()
  })

  const page = async (path = '/') => (await hosting.get(`${project.slug}.localhost`, path)).text
  const pause = (work: () => Promise<unknown>) => pausedDuring(hosting.berth.processes.worker!, work)

  /** The leases of all running jobs have expired, by the database's clock. */
  async function leasesExpired(): Promise<void> {
    const held = async () => {
      const { rows } = await sql`select id from jobs where status = 'running'
        and "leaseUntil" >= cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`.execute(database.db)
      return rows.length
    }
    await expect.poll(held).toBe(0)
  }

  async function deploymentIn(step: string): Promise<string> {
    const id = await hosting.deploy(project.id)
    await hosting.settled(id, (found) => found.steps.some(({ name, status }) => name === step && status === 'running'))
    return id
  }

  /** Checks that it went live once: one line says so, one instance runs, and no other deployment is live. */
  async function expectLiveOnce(id: string): Promise<void> {
    expect(await hosting.settled(id)).toMatchObject({ status: 'live', error: null })
    await expect
      .poll(() => database.db.selectFrom('instances').select(['deploymentId', 'state']).execute())
      .toEqual([{ deploymentId: id, state: 'running' }])
    const live = await database.db.selectFrom('deployments').select('id').where('status', '=', 'live').execute()
    expect(live).toEqual([{ id }])
    const { data } = (await hosting.api('GET', `/deployments/${id}/logs?limit=200`)).body
    expect(data.filter(({ message }: { message: string }) => message === 'Live')).toHaveLength(1)
    await expect.poll(() => jobsOf('deployments.deploy')).toEqual(['succeeded'])
  }

  const jobsOf = async (kind: string) => {
    const rows = await database.db
      .selectFrom('jobs')
      .select('status')
      .where('kind', '=', kind)
      .orderBy('sequence', 'desc')
      .limit(1)
      .execute()
    return rows.map(({ status }) => status)
  }

  test('a worker paused during a deployment continues it, and it goes live once', async () => {
    const id = await deploymentIn('build')
    await pause(leasesExpired)
    await expectLiveOnce(id)
  })

  test('a worker paused during a restore completes it once, with the data of the backup', async () => {
    await page('/?before')
    const run = await backups.backUp(policyId)
    expect(run.status).toBe('succeeded')
    await page('/?after')
    const restore = await restoreDuring(run.id, () => pause(leasesExpired))
    expect(restore).toMatchObject({ status: 'succeeded', dataState: 'restored', error: null })
    expect(await page()).toBe('before')
    const safetyRuns = await database.db.selectFrom('backupRuns').select('id').where('trigger', '=', 'pre_restore').execute()
    expect(safetyRuns).toHaveLength(1)
  })

  /** `work` begins while the volume is being written. */
  async function restoreDuring(runId: string, work: () => Promise<void>): Promise<BackupRestore> {
    const prepared = await backups.prepare(runId)
    await backups.apply(prepared)
    await backups.restored(prepared.restoreId, ({ status }) => status === 'applying')
    await work()
    return backups.restored(prepared.restoreId)
  }

  test.each(['reset', 'silent'] as const)('a worker cut off from PostgreSQL past its lease (%s) continues', async (manner) => {
    const id = await deploymentIn('build')
    const stream = followed(`/deployments/${id}/stream`)
    link.cut(manner)
    await leasesExpired()
    // The project is served without the database.
    expect(await page()).not.toBe('')
    if (manner === 'reset')
      expect(await hosting.api('GET', '/projects')).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    link.mend()
    await expectLiveOnce(id)
    expect((await stream).match(/^event: complete$/gm)).toHaveLength(1)
    expect((await hosting.api('GET', '/projects')).status).toBe(200)
  })

  /** The events until `complete`. While the database is away a stream may be closed, and the client connects again. */
  async function followed(path: string): Promise<string> {
    const read = async () => textOf(await hosting.stream(path, AbortSignal.timeout(240_000)))
    for (;;) {
      const text = await read().catch(() => '')
      if (text.includes('event: complete')) return text
      await setTimeout(100)
    }
  }

  test('connections reset at each step fail neither a deployment nor a backup', async () => {
    const id = await hosting.deploy(project.id)
    const runId = await backups.start(policyId)
    const seen = new Set<string>()
    const resetAtNextStep = async () => {
      const [deployment] = await database.db.selectFrom('deployments').select(['status', 'steps']).where('id', '=', id).execute()
      const [run] = await database.db.selectFrom('backupRuns').select('status').where('id', '=', runId).execute()
      const reached = JSON.parse(deployment!.steps) as { name: string; status: string }[]
      const names = [...reached.filter(({ status }) => status === 'running').map(({ name }) => name), run!.status]
      const unseen = names.filter((name) => !seen.has(name))
      for (const name of unseen) seen.add(name)
      if (unseen.length > 0) {
        link.cut('reset')
        link.mend()
      }
      return ['live', 'failed'].includes(deployment!.status) && ['succeeded', 'failed', 'server_error'].includes(run!.status)
    }
    await expect.poll(resetAtNextStep, { interval: 10 }).toBe(true)
    expect(seen.size).toBeGreaterThan(2)
    await expectLiveOnce(id)
    expect(await backups.ended(runId)).toMatchObject({ status: 'succeeded', error: null })
  })
})

async function pausedDuring(pid: number, work: () => Promise<unknown>): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  try {
    await work()
  } finally {
    process.kill(pid, 'SIGCONT')
  }
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  for await (const chunk of chunks) text += Buffer.from(chunk)
  return text
}
