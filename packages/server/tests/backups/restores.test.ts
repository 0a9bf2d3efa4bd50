// gate: also on PostgreSQL, since three requests apply one restore
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { StoreFailure } from '../../src/drivers/archive-store/store-failure.ts'
import { type ProjectSignal, projectsTopic, routedProjects } from '../../src/modules/projects/index.ts'
import { hashToken } from '../../src/platform/secrets/token.ts'
import { isReread } from '../../src/platform/signals/signals.ts'
import { makeRun } from '../kit/backups.ts'
import { readEvents } from '../kit/event-reader.ts'
import { type Scene, setScene, tarOf } from './scene.ts'

let scene: Scene
let policyId: string
beforeAll(async () => {
  scene = await setScene()
  policyId = (await scene.makePolicy({ retainCount: 100 })).id
})
afterAll(() => scene?.end())
afterEach(() => {
  const { aroundStores, runtime } = scene.instance.drivers
  aroundStores.wrap = (store) => store
  runtime.isHealthy = true
  delete (runtime as { writeVolume?: unknown }).writeVolume
})

const owner = () => scene.people.owner.token
const db = () => scene.instance.database.db
const volume = () => Buffer.from(scene.instance.drivers.runtime.volumes.get(scene.volumeId) ?? [])
const before = { 'a.txt': 'as it was', 'gone.txt': 'still here' }
const after = { 'a.txt': 'changed since', 'new.txt': 'new' }

let runId: string
beforeEach(async () => {
  await scene.fill(before)
  runId = (await scene.backUp(policyId)).id
  await scene.fill(after)
})

const prepare = (id = runId, body?: object, token = owner()) =>
  scene.as(token, 'POST /backup-runs/:runId/restore/prepare', { params: { runId: id }, ...(body ? { body } : {}) })
interface Prepared {
  restoreId: string
  confirmationToken: string
}
const staged = async (body?: object): Promise<Prepared> => {
  const answer = await prepare(runId, body)
  expect([answer.status, answer.body.error]).toEqual([201, undefined])
  return answer.body.data
}
const apply = (restoreId: string, confirmationToken?: unknown, token = owner()) =>
  scene.as(token, 'POST /backup-restores/:restoreId/apply', { params: { restoreId }, body: { confirmationToken } })
const cancel = (restoreId: string) => scene.as(owner(), 'POST /backup-restores/:restoreId/cancel', { params: { restoreId } })
const ended = async (restoreId: string) => {
  await scene.instance.jobs.whenIdle()
  return scene.restore(restoreId)
}
const restored = async (body?: object) => {
  const { restoreId, confirmationToken } = await staged(body)
  expect((await apply(restoreId, confirmationToken)).status).toBe(202)
  return ended(restoreId)
}

describe('POST /backup-runs/:runId/restore/prepare', () => {
  test('201: staged, with a token that is stored as a hash and shown once', async () => {
    const { restoreId, confirmationToken } = await staged()
    expect(confirmationToken).toMatch(/^brc_[a-z2-7]{40}$/)
    const row = await scene.instance.database.db
      .selectFrom('backupRestores')
      .selectAll()
      .where('id', '=', restoreId)
      .executeTakeFirst()
    expect([row?.status, row?.tokenHash]).toEqual(['staged', hashToken(confirmationToken)])
    const restore = await ended(restoreId)
    expect(JSON.stringify(restore)).not.toContain(confirmationToken)
    expect(restore).toMatchObject({ id: restoreId, runId, status: 'staged', target: 'in_place', dataState: 'untouched' })
  })
  test('the archive is read completely in the background, and the changes are reported; no data is changed', async () => {
    const { restoreId } = await staged()
    const { verification, report } = await ended(restoreId)
    expect(verification).toEqual({ status: 'passed', bytesDone: verification.bytesTotal, bytesTotal: expect.any(Number) })
    expect(report?.changes).toEqual([
      expect.objectContaining({
        kind: 'volume',
        name: 'data',
        action: 'replace',
        filesAdded: 1,
        filesChanged: 1,
        filesRemoved: 1,
      }),
    ])
    expect(volume()).toEqual(await tarOf(after))
  })
  const targets: [target: 'in_place' | 'copy', isData: boolean][] = [
    ['in_place', false],
    ['copy', true],
  ]
  test.each(targets)(
    'the report of a restore %s names the parts of the project that stay as they are',
    async (target, isData) => {
      const { restoreId } = await staged({ target })
      const { report } = await ended(restoreId)
      expect(report?.unchanged).toEqual(expect.arrayContaining(['settings', 'environment variables', 'domains', 'source']))
      expect(report?.unchanged?.includes('volumes')).toBe(isData)
      const bytes = Object.values(before).join('').length
      expect(report?.changes).toMatchObject([{ name: 'data', newBytes: bytes }])
    },
  )
  test('a damaged archive fails the restore before any data is changed', async () => {
    scene.withStore((store) => ({
      async *get(name, abort) {
        for await (const chunk of store.get(name, abort))
          yield name.includes('manifest') ? chunk : Buffer.from(chunk).fill(0, 0, 40)
      },
    }))
    const { restoreId, confirmationToken } = await staged()
    const restore = await ended(restoreId)
    expect(restore).toMatchObject({ status: 'failed', dataState: 'untouched', verification: { status: 'failed' } })
    expect((await apply(restoreId, confirmationToken)).status).toBe(409)
    expect(volume()).toEqual(await tarOf(after))
  })
  test('409: a run that failed, was pruned, or has no manifest any more', async () => {
    const { projectId, people } = scene
    const failed = await makeRun(scene.instance, { people, projectId })
    const pruned = await makeRun(scene.instance, { people, projectId, status: 'succeeded', prunedAt: 1 })
    for (const { id } of [failed, pruned]) {
      const { status, body } = await prepare(id)
      expect([status, body.code]).toEqual([409, 'not_restorable'])
    }
    scene.withStore(() => ({ size: async () => undefined }))
    const { status, body } = await prepare()
    expect([status, body.code, body.error]).toEqual([409, 'not_restorable', expect.stringContaining('manifest')])
  })
  test('403: a member, since the level admin is required', async () => {
    expect((await prepare(runId, {}, scene.people.member.token)).status).toBe(403)
  })
  test('400: an unknown target', async () => {
    expect((await prepare(runId, { target: 'elsewhere' })).body.field).toBe('target')
  })
})

describe('the confirmation token', () => {
  test.each([
    ['wrong', 'brc_wrong'],
    ['missing', undefined],
    ['empty', ''],
  ])('400: %s, and the restore stays staged', async (_, token) => {
    const { restoreId } = await staged()
    const { status, body } = await apply(restoreId, token)
    expect([status, body.field]).toEqual([400, 'confirmationToken'])
    expect((await ended(restoreId)).status).toBe('staged')
    expect(volume()).toEqual(await tarOf(after))
  })
  describe('wrong or missing: 400 whatever the state; the right one on a restore that is not staged: 409', () => {
    const states: [string, (prepared: Prepared) => Promise<unknown>][] = [
      ['succeeded', ({ restoreId, confirmationToken }) => apply(restoreId, confirmationToken)],
      ['cancelled', ({ restoreId }) => cancel(restoreId)],
      ['replaced', () => staged()],
      [
        'failed',
        async ({ restoreId }) =>
          db().updateTable('backupRestores').set({ status: 'failed' }).where('id', '=', restoreId).execute(),
      ],
    ]
    test.each(states)('%s', async (_, reach) => {
      const prepared = await staged()
      await ended(prepared.restoreId)
      await reach(prepared)
      await ended(prepared.restoreId)
      for (const token of ['brc_wrong', undefined]) {
        const { status, body } = await apply(prepared.restoreId, token)
        expect([status, body.field]).toEqual([400, 'confirmationToken'])
      }
      const { status, body } = await apply(prepared.restoreId, prepared.confirmationToken)
      expect([status, body.code]).toEqual([409, 'not_staged'])
      expect(JSON.stringify(await scene.restore(prepared.restoreId))).not.toContain(hashToken(prepared.confirmationToken))
    })
  })
  test('a second prepare of the run for the same target ends the first restore as cancelled, replaced by the second', async () => {
    const [first, copy] = [await staged(), await staged({ target: 'copy' })]
    const second = await staged()
    expect(await ended(first.restoreId)).toMatchObject({
      status: 'cancelled',
      dataState: 'untouched',
      error: { message: `replaced by ${second.restoreId}` },
      finishedAt: expect.any(String),
    })
    expect((await apply(first.restoreId, second.confirmationToken)).status).toBe(400)
    expect([(await ended(copy.restoreId)).status, (await ended(second.restoreId)).status]).toEqual(['staged', 'staged'])
    await cancel(copy.restoreId)
    expect((await apply(second.restoreId, second.confirmationToken)).status).toBe(202)
    expect((await ended(second.restoreId)).status).toBe('succeeded')
  })
  test('one of two concurrent applies wins', async () => {
    const { restoreId, confirmationToken } = await staged()
    const answers = await Promise.all([1, 2, 3].map(() => apply(restoreId, confirmationToken)))
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409])
    expect((await ended(restoreId)).status).toBe('succeeded')
  })
  test('403: a member', async () => {
    const { restoreId, confirmationToken } = await staged()
    expect((await apply(restoreId, confirmationToken, scene.people.member.token)).status).toBe(403)
  })
})

describe('POST /backup-restores/:restoreId/apply', () => {
  test('saves the current data, stops, writes and starts the project; and it can be undone', async () => {
    const restore = await restored()
    expect(restore).toMatchObject({ status: 'succeeded', dataState: 'restored', error: null })
    expect([restore.bytesTotal, restore.bytesDone]).toEqual([expect.any(Number), restore.bytesTotal])
    expect(restore.bytesTotal).toBeGreaterThan(0)
    expect(volume()).toEqual(await tarOf(before))
    const safety = await scene.run(restore.preRestoreRunId as string)
    expect(safety).toMatchObject({ status: 'succeeded', trigger: 'pre_restore' })
    const project = await scene.as(owner(), 'GET /projects/:id', { params: { id: scene.projectId } })
    expect(project.body.data.status).toBe('live')
    runId = safety.id
    expect((await restored()).status).toBe('succeeded')
    expect(volume()).toEqual(await tarOf(after))
  })
  test('an apply right after prepare waits for the verification', async () => {
    const { restoreId, confirmationToken } = await staged()
    const answer = await apply(restoreId, confirmationToken)
    expect(answer.body.data.status).toBe('applying')
    expect((await ended(restoreId)).verification.status).toBe('passed')
  })
  test('if the current data cannot be saved first, no data is changed', async () => {
    const { restoreId, confirmationToken } = await staged()
    await ended(restoreId)
    scene.withStore(() => ({ check: () => Promise.reject(new StoreFailure('full', 'The disk is full')) }))
    await apply(restoreId, confirmationToken)
    const restore = await ended(restoreId)
    expect(restore).toMatchObject({ status: 'failed', dataState: 'untouched', error: { code: 'safety_run_failed' } })
    expect((await scene.run(restore.preRestoreRunId as string)).status).toBe('failed')
    expect(volume()).toEqual(await tarOf(after))
  })
  test('a project that does not come back healthy gets its old data back', async () => {
    const { runtime } = scene.instance.drivers
    const { restoreId, confirmationToken } = await staged()
    await ended(restoreId)
    const start = runtime.start.bind(runtime)
    let starts = 0
    runtime.start = async (request) => {
      starts += 1
      const instance = await start(request)
      return starts === 1 ? Promise.reject(new Error('it crashed')) : instance
    }
    await apply(restoreId, confirmationToken)
    const restore = await ended(restoreId)
    runtime.start = start
    expect(restore).toMatchObject({ status: 'failed', dataState: 'undone', error: { code: 'unhealthy' } })
    expect(volume()).toEqual(await tarOf(after))
    const project = await scene.as(owner(), 'GET /projects/:id', { params: { id: scene.projectId } })
    expect(project.body.data.status).toBe('live')
  })
  test('a write that fails half-way leaves the old data serving', async () => {
    const { runtime } = scene.instance.drivers
    const { restoreId, confirmationToken } = await staged()
    await ended(restoreId)
    const write = runtime.writeVolume.bind(runtime)
    let writes = 0
    runtime.writeVolume = async (id, tar) => {
      writes += 1
      if (writes === 1) throw new Error('the disk is full')
      await write(id, tar)
    }
    await apply(restoreId, confirmationToken)
    const restore = await ended(restoreId)
    expect(restore).toMatchObject({
      status: 'failed',
      dataState: 'undone',
      error: { message: expect.stringContaining('disk is full') },
    })
    expect(volume()).toEqual(await tarOf(after))
  })
  test('copy: into a new volume beside the old one, which is unchanged', async () => {
    const restore = await restored({ target: 'copy' })
    expect(restore).toMatchObject({ status: 'succeeded', dataState: 'untouched', preRestoreRunId: null })
    expect([restore.bytesTotal, restore.bytesDone]).toEqual([expect.any(Number), restore.bytesTotal])
    expect(volume()).toEqual(await tarOf(after))
    const volumes = await scene.instance.database.db
      .selectFrom('volumes')
      .selectAll()
      .where('projectId', '=', scene.projectId)
      .execute()
    const name = `data-restored-${restore.id.slice(-8)}`
    const copy = volumes.find((one) => one.name === name)
    expect(restore.volumes).toEqual([{ id: copy?.id, name }])
    expect(restore.report?.changes).toMatchObject([{ name: 'data', volume: name, action: 'create' }])
    expect(Buffer.from(scene.instance.drivers.runtime.volumes.get(copy!.id)!)).toEqual(await tarOf(before))
    await scene.instance.database.db.deleteFrom('volumes').where('id', '=', copy!.id).execute()
  })
  test('is announced', async () => {
    const { id } = await restored()
    const reported = await scene.instance.database.db
      .selectFrom('announcements')
      .selectAll()
      .where('category', '=', 'restore.completed')
      .execute()
    const own = reported.find(({ data }) => data.includes(id))
    expect(own?.text).toContain('Not changed: settings, environment variables')
  })
})

type Gate = PromiseWithResolvers<void>

describe('the stream of a restore', () => {
  test('has snapshot, transitions and complete, then ends; never the token', async () => {
    const { restoreId, confirmationToken } = await staged()
    await ended(restoreId)
    const reader = await readEvents(`${scene.url}/api/backup-restores/${restoreId}/stream`, {
      authorization: `Bearer ${scene.people.viewer.token}`,
    })
    await expect.poll(() => reader.events.length).toBeGreaterThan(0)
    await apply(restoreId, confirmationToken)
    await reader.ended
    expect(reader.events[0]).toMatchObject({ event: 'snapshot', data: { status: 'staged' } })
    expect(reader.events.filter(({ event }) => event === 'transition').map(({ data }) => data.status)).toEqual([
      'applying',
      'succeeded',
    ])
    expect(reader.events.at(-1)).toMatchObject({ event: 'complete', data: { status: 'succeeded' } })
    expect(JSON.stringify(reader.events)).not.toContain(confirmationToken)
    expect(JSON.stringify(reader.events)).not.toContain(hashToken(confirmationToken))
  })
})

describe('the stream of a staged restore', () => {
  const held = () => {
    const going = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    return { going, begun }
  }
  const holdReads = ({ going, begun }: ReturnType<typeof held>, damage = false) =>
    scene.withStore((store) => ({
      async *get(name, abort) {
        if (!name.includes('manifest')) {
          begun.resolve()
          await going.promise
        }
        for await (const chunk of store.get(name, abort))
          yield damage && !name.includes('manifest') ? Buffer.from(chunk).fill(0, 0, 40) : chunk
      },
    }))
  const read = (restoreId: string) =>
    readEvents(`${scene.url}/api/backup-restores/${restoreId}/stream`, { authorization: `Bearer ${owner()}` })
  const transitions = ({ events }: Awaited<ReturnType<typeof read>>) =>
    events.filter(({ event }) => event === 'transition').map(({ data }) => [data.status, data.verification.status])

  test('reports when the verification has passed', async () => {
    const gate = held()
    holdReads(gate)
    const { restoreId } = await staged()
    await gate.begun.promise
    const reader = await read(restoreId)
    await expect.poll(() => reader.events[0]).toMatchObject({ event: 'snapshot', data: { verification: { status: 'running' } } })
    gate.going.resolve()
    await expect.poll(() => transitions(reader)).toEqual([['staged', 'passed']])
    const { verification } = await scene.restore(restoreId)
    expect(verification).toEqual({ status: 'passed', bytesDone: verification.bytesTotal, bytesTotal: expect.any(Number) })
    expect(reader.events.at(-1)?.data).toEqual({ status: 'staged', at: expect.any(String), verification })
    await cancel(restoreId)
    await reader.ended
    expect(transitions(reader).at(-1)).toEqual(['cancelled', 'passed'])
  })
  test('reports that the verification has failed, which ends the restore before any data is changed', async () => {
    const gate = held()
    holdReads(gate, true)
    const { restoreId } = await staged()
    await gate.begun.promise
    const reader = await read(restoreId)
    await expect.poll(() => reader.events.length).toBeGreaterThan(0)
    gate.going.resolve()
    await reader.ended
    expect(transitions(reader)).toEqual([['failed', 'failed']])
    expect(reader.events.at(-1)).toMatchObject({ event: 'complete', data: { status: 'failed', dataState: 'untouched' } })
  })
})

test('a restore whose writes all fail leaves the data unchanged, and the project runs again', async () => {
  const { runtime } = scene.instance.drivers
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  runtime.writeVolume = () => Promise.reject(full)
  expect(await restored()).toMatchObject({ status: 'failed', dataState: 'untouched', error: { code: 'storage_full' } })
  expect(volume()).toEqual(Buffer.from(await tarOf(after)))
  const { data } = (await scene.as(owner(), 'GET /projects/:id', { params: { id: scene.projectId } })).body
  expect(data.status).toBe('live')
  expect([...runtime.running.values()].filter(({ instance }) => instance.owner.projectId === scene.projectId)).toHaveLength(1)
})

test('old data that cannot be put back right after a failed restore is put back later', async () => {
  const { runtime } = scene.instance.drivers
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  const write = runtime.writeVolume.bind(runtime)
  const { restoreId, confirmationToken } = await staged()
  await ended(restoreId)
  const start = runtime.start.bind(runtime)
  runtime.start = async () => {
    runtime.start = start
    throw full
  }
  let writes = 0
  runtime.writeVolume = async (id, tar) => {
    writes += 1
    // The first write is the restore, the second one the first attempt to put the old data back.
    if (writes === 2) throw full
    await write(id, tar)
  }
  await apply(restoreId, confirmationToken)
  await expect.poll(async () => (await scene.restore(restoreId)).finishedAt, { timeout: 20_000 }).not.toBeNull()
  expect(await scene.restore(restoreId)).toMatchObject({
    status: 'failed',
    dataState: 'undone',
    error: { code: 'unhealthy' },
  })
  expect(writes).toBe(3)
  expect(volume()).toEqual(Buffer.from(await tarOf(after)))
  const { data } = (await scene.as(owner(), 'GET /projects/:id', { params: { id: scene.projectId } })).body
  expect(data.status).toBe('live')
})

test('the undo point of a restore outlives the safety runs of later restores that failed or were cancelled', async () => {
  const { runtime } = scene.instance.drivers
  const applied = await restored()
  expect(applied.status).toBe('succeeded')
  const write = runtime.writeVolume.bind(runtime)
  for (const _ of [1, 2, 3, 4]) {
    let writes = 0
    runtime.writeVolume = async (id, tar) => {
      writes += 1
      if (writes === 1) throw new Error('the disk is full')
      await write(id, tar)
    }
    expect(await restored()).toMatchObject({ status: 'failed', dataState: 'undone' })
  }
  await scene.instance.jobs.whenIdle()
  expect(await scene.run(applied.preRestoreRunId as string)).toMatchObject({ status: 'succeeded', prunedAt: null })
})

describe('the verification of a restore that was cancelled says nothing about its archive', () => {
  const endings: [string, (restoreId: string) => Promise<unknown>][] = [
    ['cancelled', (restoreId) => cancel(restoreId)],
    ['replaced', () => staged()],
  ]
  test.each(endings)('%s', async (_, end) => {
    const [begun, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    scene.withStore((store) => ({
      async *get(name, abort) {
        if (!name.includes('manifest')) {
          begun.resolve()
          await going.promise
        }
        yield* store.get(name, abort)
      },
    }))
    const { restoreId } = await staged()
    await begun.promise
    expect((await scene.restore(restoreId)).verification.status).toBe('running')
    await end(restoreId)
    expect(await scene.restore(restoreId)).toMatchObject({ status: 'cancelled', verification: { status: 'pending' } })
    going.resolve()
    expect((await ended(restoreId)).verification.status).toBe('pending')
  })
})

describe('POST /backup-restores/:restoreId/cancel', () => {
  test('staged: cancelled without a change, and its token is invalid', async () => {
    const { restoreId, confirmationToken } = await staged()
    const { status, body } = await cancel(restoreId)
    expect([status, body.data.status, body.data.dataState]).toEqual([200, 'cancelled', 'untouched'])
    const answer = await apply(restoreId, confirmationToken)
    expect([answer.status, answer.body.code]).toEqual([409, 'not_staged'])
    expect((await cancel(restoreId)).status).toBe(409)
    expect(volume()).toEqual(await tarOf(after))
  })
  test('in flight: it stops at once, and is cancelled when the old data is back', async () => {
    const { runtime } = scene.instance.drivers
    const { restoreId, confirmationToken } = await staged()
    await ended(restoreId)
    const begun = Promise.withResolvers<void>()
    const write = runtime.writeVolume.bind(runtime)
    let writes = 0
    runtime.writeVolume = async (id, tar, abort?: AbortSignal) => {
      writes += 1
      await write(id, tar)
      if (writes > 1) return
      begun.resolve()
      await new Promise((_, reject) => abort?.addEventListener('abort', () => reject(abort.reason)))
    }
    await apply(restoreId, confirmationToken)
    await begun.promise
    const { body } = await cancel(restoreId)
    expect([body.data.status, body.data.dataState]).toEqual(['applying', 'partly_written'])
    expect(await ended(restoreId)).toMatchObject({ status: 'cancelled', dataState: 'undone' })
    expect(volume()).toEqual(await tarOf(after))
  })

  test('in flight: `complete` comes when the old data is back, and until then the project is not deployed', async () => {
    const { runtime } = scene.instance.drivers
    const { restoreId, confirmationToken } = await staged()
    await ended(restoreId)
    const reader = await readEvents(`${scene.url}/api/backup-restores/${restoreId}/stream`, {
      authorization: `Bearer ${scene.people.viewer.token}`,
    })
    const [begun, back, going] = [1, 2, 3].map(() => Promise.withResolvers<void>()) as [Gate, Gate, Gate]
    const write = runtime.writeVolume.bind(runtime)
    let writes = 0
    runtime.writeVolume = async (id, tar, abort?: AbortSignal) => {
      writes += 1
      if (writes > 1) {
        back.resolve()
        await going.promise
        return write(id, tar)
      }
      begun.resolve()
      await new Promise((_, reject) => abort?.addEventListener('abort', () => reject(abort.reason)))
    }
    const synced: string[] = []
    const stopListening = scene.instance.database.signals.subscribe<ProjectSignal>(projectsTopic, (event) => {
      if (!isReread(event)) synced.push(event.projectId)
    })
    await apply(restoreId, confirmationToken)
    await begun.promise
    expect((await routedProjects(db())).pauses).toEqual([{ projectId: scene.projectId, kind: 'restore' }])
    await cancel(restoreId)
    await back.promise
    expect((await routedProjects(db())).pauses).toEqual([{ projectId: scene.projectId, kind: 'restore' }])
    synced.length = 0
    expect(await scene.restore(restoreId)).toMatchObject({ status: 'applying', finishedAt: null })
    expect(await cancel(restoreId)).toMatchObject({
      status: 200,
      body: { data: { status: 'applying' }, warnings: [expect.stringContaining('is being put back')] },
    })
    expect(reader.events.filter(({ event, data }) => event === 'complete' || data.status === 'cancelled')).toEqual([])
    const deploy = await scene.as(owner(), 'POST /deployments/build/access', { body: { projectId: scene.projectId } })
    expect([deploy.status, deploy.body.code, deploy.body.error]).toEqual([
      409,
      'work_in_progress',
      expect.stringContaining(restoreId),
    ])
    expect(deploy.body.error).toContain('the previous data is being put back. Wait until it ends')
    expect(deploy.body.error).not.toMatch(/or cancel/)
    expect(await scene.restore(restoreId)).toMatchObject({ status: 'applying', dataState: 'partly_written', finishedAt: null })
    going.resolve()
    await reader.ended
    expect(reader.events.at(-1)).toMatchObject({
      event: 'complete',
      data: { status: 'cancelled', dataState: 'undone', finishedAt: expect.any(String) },
    })
    // The edge is synced once the project is not being restored any more.
    await expect.poll(() => synced).toEqual([scene.projectId])
    expect((await routedProjects(db())).pauses).toEqual([])
    stopListening()
    await scene.instance.jobs.whenIdle()
    const reported = await db().selectFrom('announcements').selectAll().where('category', '=', 'restore.failed').execute()
    const own = reported.filter(({ data }) => data.includes(restoreId))
    expect(own).toMatchObject([{ subject: expect.stringMatching(/was cancelled$/), text: expect.stringContaining('put back') }])
    runtime.writeVolume = write
  })
})

test('a deleted project is restored with its settings, variables and data', async () => {
  const { body } = await scene.as(owner(), 'POST /projects', {
    body: { name: 'Lost', gitUrl: 'https://git.example.test/acme/lost.git' },
  })
  const { id } = body.data
  await scene.as(owner(), 'PATCH /projects/:id/env', {
    params: { id },
    body: {
      upserts: [
        { key: 'KEY', value: 'secret value', isSecret: true },
        { key: 'PLAIN', value: 'x', isSecret: false },
      ],
    },
  })
  const volumeId = 'vol_22222222222222222222'
  await scene.instance.database.db
    .insertInto('volumes')
    .values({
      id: volumeId,
      projectId: id,
      environment: 'production',
      service: '',
      name: 'files',
      runtime: 'process',
      createdAt: 1,
    })
    .execute()
  scene.instance.drivers.runtime.volumes.set(volumeId, await tarOf({ 'kept.txt': 'kept' }))
  const policy = await scene.as(owner(), 'POST /projects/:projectId/backup-policies', {
    params: { projectId: id },
    body: { destinationId: scene.destinationId },
  })
  const run = await scene.backUp(policy.body.data.id)
  expect(run.status).toBe('succeeded')
  await scene.as(owner(), 'DELETE /projects/:id', { params: { id }, query: { deleteVolumes: true } })
  expect((await scene.as(owner(), 'GET /projects/:id', { params: { id } })).status).toBe(404)
  runId = run.id
  const restore = await restored()
  expect([restore.status, restore.error]).toEqual(['succeeded', null])
  const project = await scene.as(owner(), 'GET /projects/:id', { params: { id } })
  expect([project.status, project.body.data.name, project.body.data.source.url]).toEqual([
    200,
    'Lost',
    'https://git.example.test/acme/lost.git',
  ])
  const env = await scene.as(owner(), 'GET /projects/:id/env', { params: { id } })
  expect(env.body.data.map(({ key, isSecret }: { key: string; isSecret: boolean }) => [key, isSecret])).toEqual([
    ['KEY', true],
    ['PLAIN', false],
  ])
  expect((await scene.instance.projects.openEnv(id, 'production')).values.KEY).toBe('secret value')
  const back = await scene.instance.database.db
    .selectFrom('volumes')
    .selectAll()
    .where('projectId', '=', id)
    .executeTakeFirstOrThrow()
  expect(Buffer.from(scene.instance.drivers.runtime.volumes.get(back.id)!)).toEqual(await tarOf({ 'kept.txt': 'kept' }))
})

test('a deleted project is restored with its upload; an existing project is unchanged', async () => {
  const opened = await scene.as(owner(), 'POST /projects/folder/session', { body: {} })
  const { sessionId } = opened.body.data
  const tarball = gzipSync(await tarOf({ 'package.json': '{"name":"sent"}', 'server.js': 'run()' }))
  const headers = { authorization: `Bearer ${owner()}`, 'content-type': 'application/gzip' }
  const sent = await scene.instance.app.inject({
    method: 'POST',
    url: `/api/projects/folder/upload/${sessionId}`,
    headers,
    payload: tarball,
  })
  expect(sent.statusCode, sent.body).toBe(200)
  const { body } = await scene.as(owner(), 'POST /projects', { body: { name: 'Sent', uploadSessionId: sessionId } })
  const { id } = body.data
  const policy = await scene.as(owner(), 'POST /projects/:projectId/backup-policies', {
    params: { projectId: id },
    body: { destinationId: scene.destinationId },
  })
  const run = await scene.backUp(policy.body.data.id)
  expect(run.artifacts).toMatchObject([{ name: 'source', kind: 'source' }])
  await scene.as(owner(), 'DELETE /projects/:id', { params: { id } })
  const file = scene.instance.projects.uploadFile(sessionId)
  rmSync(file)
  await db().deleteFrom('uploadSessions').where('id', '=', sessionId).execute()
  runId = run.id
  const restore = await restored()
  expect([restore.status, restore.error]).toEqual(['succeeded', null])
  expect(restore.report?.changes).toContainEqual(expect.objectContaining({ kind: 'source', action: 'create' }))
  expect(readFileSync(file)).toEqual(tarball)
  const session = await db().selectFrom('uploadSessions').selectAll().where('id', '=', sessionId).executeTakeFirstOrThrow()
  expect(session).toMatchObject({ status: 'received', organizationId: scene.people.organizationId })
  expect(session.expiresAt).toBeGreaterThan(Date.now() + 1e12)
  writeFileSync(file, 'newer')
  expect((await restored()).report?.changes).toEqual([])
  expect(readFileSync(file, 'utf8')).toBe('newer')
})

test('a deleted project is restored with the upload that was live, not with its first upload', async () => {
  const upload = async (text: string) => {
    const { sessionId } = (await scene.as(owner(), 'POST /projects/folder/session', { body: {} })).body.data
    const payload = gzipSync(
      await tarOf({ 'package.json': '{"name":"sent","scripts":{"start":"node server.js"}}', 'server.js': text }),
    )
    const headers = { authorization: `Bearer ${owner()}`, 'content-type': 'application/gzip' }
    const url = `/api/projects/folder/upload/${sessionId}`
    expect((await scene.instance.app.inject({ method: 'POST', url, headers, payload })).statusCode).toBe(200)
    return { sessionId, payload }
  }
  const [first, second] = [await upload('one'), await upload('two')]
  const made = await scene.as(owner(), 'POST /projects', { body: { name: 'Sent', uploadSessionId: first.sessionId } })
  const { id: projectId } = made.body.data
  const deployed = { projectId, uploadSessionId: second.sessionId }
  expect((await scene.as(owner(), 'POST /deployments/build/access', { body: deployed })).status).toBe(202)
  await scene.instance.jobs.whenIdle()
  const policy = await scene.as(owner(), 'POST /projects/:projectId/backup-policies', {
    params: { projectId },
    body: { destinationId: scene.destinationId },
  })
  runId = (await scene.backUp(policy.body.data.id)).id
  await scene.as(owner(), 'DELETE /projects/:id', { params: { id: projectId } })
  const file = scene.instance.projects.uploadFile(second.sessionId)
  rmSync(file)
  await db().deleteFrom('uploadSessions').where('id', '=', second.sessionId).execute()
  expect((await restored()).status).toBe('succeeded')
  expect(readFileSync(file)).toEqual(second.payload)
  const row = await db().selectFrom('projects').select('uploadSessionId').where('id', '=', projectId).executeTakeFirst()
  expect(row).toEqual({ uploadSessionId: second.sessionId })
})
