// gate: also on PostgreSQL, since runs change their states under conditions
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ArchiveIndex } from '../../src/drivers/archive/archive.ts'
import type { ArchiveStore } from '../../src/drivers/archive-store/archive-store.ts'
import { StoreFailure } from '../../src/drivers/archive-store/store-failure.ts'
import { readEvents } from '../kit/event-reader.ts'
import { type Scene, setScene, tarOf } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await setScene()
})
afterAll(() => scene?.end())
beforeEach(() => scene.fill({ 'a.txt': 'hello', 'folder/b.bin': '\u0000\u0001two' }))
afterEach(() => {
  scene.instance.drivers.aroundStores.wrap = (store) => store
  scene.instance.drivers.runtime.onExec = async () => ({ exitCode: 127, stderrTail: '' })
})

const db = () => scene.instance.database.db
const owner = () => scene.people.owner.token

/** A store call that waits until the test releases it. */
function gate() {
  const begun = Promise.withResolvers<void>()
  const going = Promise.withResolvers<void>()
  const wait = async (abort: AbortSignal) => {
    begun.resolve()
    await Promise.race([going.promise, new Promise((_, reject) => abort.addEventListener('abort', () => reject(abort.reason)))])
  }
  return { begun: begun.promise, release: () => going.resolve(), wait }
}
const holdPut = (held: ReturnType<typeof gate>) =>
  scene.withStore((store) => ({
    async put(name, content, abort) {
      if (!name.includes('manifest')) await held.wait(abort)
      return store.put(name, content, abort)
    },
  }))

async function contentOf(runId: string, name: string): Promise<Buffer> {
  const row = await db()
    .selectFrom('backupArtifacts')
    .selectAll()
    .where('runId', '=', runId)
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  const destination = await db()
    .selectFrom('backupDestinations')
    .selectAll()
    .where('id', '=', scene.destinationId)
    .executeTakeFirstOrThrow()
  const { path } = JSON.parse(destination.config)
  const store = await scene.instance.drivers.stores.open({ kind: 'local', path, root: path })
  const archives = await scene.instance.drivers.archives()
  const chunks = []
  const index = JSON.parse(row.index) as ArchiveIndex
  for await (const chunk of archives.read(index, { store, abort: AbortSignal.timeout(50_000) })) chunks.push(chunk)
  await store.close()
  return Buffer.concat(chunks)
}

describe('a run', () => {
  test('goes through its steps, stores the data, reads it back, and streams its progress', async () => {
    const held = gate()
    holdPut(held)
    const { id: policyId } = await scene.makePolicy()
    const runId = await scene.start(policyId)
    await held.begun
    const reader = await readEvents(`${scene.url}/api/backup-runs/${runId}/stream`, {
      authorization: `Bearer ${scene.people.viewer.token}`,
    })
    await expect.poll(() => reader.events.length).toBeGreaterThan(0)
    held.release()
    await reader.ended
    expect(reader.events[0]).toMatchObject({ event: 'snapshot', data: { id: runId, status: 'uploading' } })
    expect(reader.events.filter(({ event }) => event === 'transition').map(({ data }) => data.status)).toEqual([
      'verifying',
      'succeeded',
    ])
    expect(reader.events.at(-1)).toMatchObject({ event: 'complete', data: { id: runId, status: 'succeeded' } })
    const run = await scene.ended(runId)
    expect(run).toMatchObject({ status: 'succeeded', trigger: 'manual', policyId, error: null, prunedAt: null })
    expect(run.artifacts).toEqual([
      {
        name: 'data',
        kind: 'volume',
        sizeBytes: expect.any(Number),
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        reused: false,
      },
    ])
    expect(run.bytesDone).toBe(run.bytesTotal)
    expect(await contentOf(runId, 'data')).toEqual(await tarOf({ 'a.txt': 'hello', 'folder/b.bin': '\u0000\u0001two' }))
  })

  test('the stream of an ended run has its snapshot and complete, then ends', async () => {
    const { id: policyId } = await scene.makePolicy()
    const run = await scene.backUp(policyId)
    const reader = await readEvents(`${scene.url}/api/backup-runs/${run.id}/stream`, { authorization: `Bearer ${owner()}` })
    await reader.ended
    expect(reader.events.map(({ event }) => event)).toEqual(['snapshot', 'complete'])
  })

  test('whose data did not change says so and stores no second copy', async () => {
    const { id: policyId } = await scene.makePolicy()
    await scene.fill({ 'only-here.txt': 'first content' })
    const first = await scene.backUp(policyId)
    expect(first.artifacts[0]?.reused).toBe(false)
    const before = scene.stored().filter((name) => !name.includes('manifest'))
    const second = await scene.backUp(policyId)
    expect([second.status, second.artifacts[0]?.reused]).toEqual(['succeeded', true])
    expect(scene.stored().filter((name) => !name.includes('manifest'))).toEqual(before)
    expect(await contentOf(second.id, 'data')).toEqual(await tarOf({ 'only-here.txt': 'first content' }))
  })

  test('leaves out what the policy excludes', async () => {
    const { id: policyId } = await scene.makePolicy({ payload: { exclude: ['folder/', '*.log'] } })
    await scene.fill({ 'a.txt': 'kept', 'x.log': 'gone', 'folder/b.bin': 'gone' })
    const run = await scene.backUp(policyId)
    const content = (await contentOf(run.id, 'data')).toString('latin1')
    expect([content.includes('kept'), content.includes('gone')]).toEqual([true, false])
  })

  test("that saved none of the project's data has a warning", async () => {
    const run = await scene.backUp((await scene.makePolicy({ payload: { volumes: [] } })).id)
    expect(run).toMatchObject({ status: 'succeeded', artifacts: [], warning: expect.stringContaining('No data was saved') })
    const whole = await scene.backUp((await scene.makePolicy()).id)
    expect(whole).toMatchObject({ status: 'succeeded', warning: null })
  })

  test('that finds no volume or database named by the policy fails, even if they existed when the policy was created', async () => {
    const { id: policyId } = await scene.makePolicy({ payload: { volumes: ['data'] } })
    await db()
      .updateTable('backupPolicies')
      .set({ payload: JSON.stringify({ volumes: ['gone'] }) })
      .where('id', '=', policyId)
      .execute()
    expect(await scene.backUp(policyId)).toMatchObject({ status: 'failed', error: { code: 'nothing_found' }, artifacts: [] })
    await db()
      .updateTable('backupPolicies')
      .set({ payload: JSON.stringify({ volumes: 'all' }), serviceId: 'gone' })
      .where('id', '=', policyId)
      .execute()
    expect(await scene.backUp(policyId)).toMatchObject({ status: 'failed', error: { code: 'nothing_found' } })
  })

  test('202: while a run of the policy is in progress, one more is queued, and only one', async () => {
    const held = gate()
    holdPut(held)
    const { id: policyId } = await scene.makePolicy()
    await scene.fill({ 'another.txt': `${policyId}` })
    const runId = await scene.start(policyId)
    await held.begun
    const second = await scene.start(policyId)
    expect([second === runId, (await scene.run(second)).status]).toEqual([false, 'queued'])
    expect(await scene.start(policyId)).toBe(second)
    held.release()
    for (const id of [runId, second]) expect((await scene.ended(id)).status).toBe('succeeded')
  })

  test('is announced when it succeeded and when it failed', async () => {
    const { id: policyId } = await scene.makePolicy()
    scene.withStore(() => ({ check: () => Promise.reject(new StoreFailure('denied', 'You may not write there')) }))
    const failed = await scene.backUp(policyId)
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'destination_denied', message: 'You may not write there' } })
    const reported = await db()
      .selectFrom('announcements')
      .select(['category', 'data'])
      .where('category', '=', 'backup.failed')
      .execute()
    expect(reported.some(({ data }) => data.includes(failed.id))).toBe(true)
  })

  test('to a folder that the operator no longer allows fails with the remedy', async () => {
    const { id: policyId } = await scene.makePolicy()
    const setPath = (config: string) =>
      db().updateTable('backupDestinations').set({ config }).where('id', '=', scene.destinationId).execute()
    const { config } = await db()
      .selectFrom('backupDestinations')
      .select('config')
      .where('id', '=', scene.destinationId)
      .executeTakeFirstOrThrow()
    await setPath(JSON.stringify({ path: '/elsewhere/nightly' }))
    try {
      const error = { code: 'destination_denied', message: expect.stringContaining('BERTH_BACKUP_ROOTS') }
      expect(await scene.backUp(policyId)).toMatchObject({ status: 'failed', error })
    } finally {
      await setPath(config)
    }
  })

  test('that failed names the last good backup if there is one', async () => {
    const { id: policyId } = await scene.makePolicy()
    const broken = () =>
      scene.withStore(() => ({ check: () => Promise.reject(new StoreFailure('denied', 'You may not write there')) }))
    const textOf = async (runId: string) => {
      const rows = await db().selectFrom('announcements').selectAll().where('category', '=', 'backup.failed').execute()
      return rows.find(({ data }) => data.includes(runId))?.text
    }
    broken()
    const first = await scene.backUp(policyId)
    expect(await textOf(first.id)).toContain('There is no earlier successful backup')
    scene.instance.drivers.aroundStores.wrap = (store) => store
    const good = await scene.backUp(policyId)
    broken()
    const second = await scene.backUp(policyId)
    expect(await textOf(second.id)).toContain(`The last good backup is still available: run ${good.id}`)
  })
})

describe('a destination that responds falsely', () => {
  const flipped = (content: AsyncIterable<Uint8Array>) =>
    changed(content, (chunk) => Buffer.from(chunk.map((byte, at) => (at === 9 ? byte ^ 1 : byte))))
  const cut = (content: AsyncIterable<Uint8Array>) => changed(content, (chunk) => chunk.subarray(0, chunk.length >> 1))
  async function* changed(content: AsyncIterable<Uint8Array>, by: (chunk: Uint8Array) => Uint8Array) {
    for await (const chunk of content) yield by(chunk)
  }
  const full = () => Promise.reject(new StoreFailure('full', 'The disk is full'))
  const isPart = (name: string) => !name.includes('manifest')
  const faults: [string, (store: ArchiveStore) => Partial<ArchiveStore>][] = [
    ['is full', () => ({ put: full })],
    [
      'is full when the manifest is written',
      (store) => ({ put: (name, content, abort) => (isPart(name) ? store.put(name, content, abort) : full()) }),
    ],
    [
      'says that it stored a part, and stores nothing',
      (store) => ({
        put: async (name, content, abort) =>
          isPart(name) ? { sizeBytes: await drained(content) } : store.put(name, content, abort),
      }),
    ],
    [
      'says that it stored the manifest, and stores nothing',
      (store) => ({
        put: async (name, content, abort) =>
          isPart(name) ? store.put(name, content, abort) : { sizeBytes: await drained(content) },
      }),
    ],
    [
      'stores half of a part',
      (store) => ({ put: (name, content, abort) => store.put(name, isPart(name) ? cut(content) : content, abort) }),
    ],
    [
      'gives back a part with a flipped bit',
      (store) => ({ get: (name, abort) => (isPart(name) ? flipped(store.get(name, abort)) : store.get(name, abort)) }),
    ],
    [
      'gives back a manifest with a flipped bit',
      (store) => ({ get: (name, abort) => (isPart(name) ? store.get(name, abort) : flipped(store.get(name, abort))) }),
    ],
    ['gives back half of a part', (store) => ({ get: (name, abort) => cut(store.get(name, abort)) })],
  ]
  async function drained(content: AsyncIterable<Uint8Array>): Promise<number> {
    let bytes = 0
    for await (const chunk of content) bytes += chunk.length
    return bytes
  }

  test.each(faults)('and %s: the run fails, and none of its data is left', async (_what, fault) => {
    const { id: policyId } = await scene.makePolicy()
    await scene.fill({ 'unique.txt': `content of ${policyId}` })
    scene.withStore(fault)
    const run = await scene.backUp(policyId)
    expect([run.status, run.sizeBytes, run.error?.code]).toEqual(['failed', null, expect.stringMatching(/^destination_/)])
    expect(scene.stored().filter((name) => name.includes(run.id))).toEqual([])
    expect((await scene.run(run.id)).artifacts).toEqual([])
  })

  test('that deleted its data: the next run stores everything again', async () => {
    const { id: policyId } = await scene.makePolicy()
    await scene.fill({ 'unique.txt': `content of ${policyId}` })
    const first = await scene.backUp(policyId)
    scene.withStore((store) => ({
      async *list(prefix, abort) {
        for await (const object of store.list(prefix, abort)) if (!object.name.includes(first.id)) yield object
      },
    }))
    const second = await scene.backUp(policyId)
    expect([second.status, second.artifacts[0]?.reused]).toEqual(['succeeded', false])
  })
})

describe('commands inside the service', () => {
  const commands = { preCommand: 'freeze --all', postCommand: 'thaw && echo "done" > /tmp/x' }
  let heard: string[]
  beforeEach(() => {
    heard = []
    scene.instance.drivers.runtime.onExec = async ({ argv, stdin }) => {
      let script = ''
      for await (const chunk of stdin ?? []) script += Buffer.from(chunk).toString()
      heard.push([...argv, script.trim()].join(' ').trim())
      return { exitCode: argv[0] === 'fail' ? 3 : 0, stderrTail: 'no luck' }
    }
  })

  test('run as a list of arguments, or as a script if they need a shell; the post-command runs after all data was read', async () => {
    const run = await scene.backUp((await scene.makePolicy(commands)).id)
    expect([run.status, heard]).toEqual(['succeeded', ['freeze --all', '/bin/sh -e thaw && echo "done" > /tmp/x']])
  })
  test('a pre-command that fails ends the run, and the post-command runs', async () => {
    const run = await scene.backUp((await scene.makePolicy({ ...commands, preCommand: 'fail' })).id)
    expect([run.status, run.error?.code]).toEqual(['failed', 'pre_command_failed'])
    expect(run.error?.message).toContain('no luck')
    expect(heard.at(-1)).toContain('thaw')
  })
  test('the post-command runs once after a run that failed or was cancelled', async () => {
    scene.withStore(() => ({ put: () => Promise.reject(new StoreFailure('full', 'The disk is full')) }))
    const { id: policyId } = await scene.makePolicy(commands)
    await scene.fill({ 'unique.txt': `content of ${policyId}` })
    expect((await scene.backUp(policyId)).status).toBe('failed')
    expect(heard.filter((line) => line.includes('thaw'))).toHaveLength(1)
    const held = gate()
    holdPut(held)
    const runId = await scene.start(policyId)
    await held.begun
    const cancelled = await scene.as(owner(), 'POST /backup-runs/:runId/cancel', { params: { runId } })
    expect([cancelled.status, cancelled.body.data.status]).toEqual([200, 'cancelled'])
    await scene.ended(runId)
    expect(heard.filter((line) => line.includes('thaw'))).toHaveLength(2)
  })
})

describe('POST /backup-runs/:runId/cancel', () => {
  test('ends it at once and removes its stored data; a terminal status never changes', async () => {
    const held = gate()
    holdPut(held)
    const { id: policyId } = await scene.makePolicy()
    await scene.fill({ 'unique.txt': `content of ${policyId}` })
    const runId = await scene.start(policyId)
    await held.begun
    const cancel = () => scene.as(owner(), 'POST /backup-runs/:runId/cancel', { params: { runId } })
    expect((await cancel()).body.data.status).toBe('cancelled')
    held.release()
    expect((await scene.ended(runId)).status).toBe('cancelled')
    expect(scene.stored().filter((name) => name.includes(runId))).toEqual([])
    const again = await cancel()
    expect([again.status, again.body.code]).toEqual([409, 'conflict'])
  })
})

describe('the webhook', () => {
  const hook = (token?: string) =>
    scene.instance.app.inject({
      method: 'POST',
      url: '/api/webhooks/backup',
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    })
  const change = async (policyId: string, body: object) =>
    (await scene.as(owner(), 'PATCH /backup-policies/:policyId', { params: { policyId }, body })).body.data

  test('202: starts a run of the policy of the token; while it is in progress, one more is queued, and only one', async () => {
    const held = gate()
    holdPut(held)
    const { id: policyId } = await scene.makePolicy()
    await scene.fill({ 'unique.txt': `content of ${policyId}` })
    const { webhookToken } = await change(policyId, { enableWebhook: true })
    const answer = await hook(webhookToken)
    const { runId } = answer.json().data
    expect(answer.statusCode).toBe(202)
    await held.begun
    const second = (await hook(webhookToken)).json().data.runId
    expect(second).not.toBe(runId)
    expect((await scene.run(second)).status).toBe('queued')
    expect((await hook(webhookToken)).json().data.runId).toBe(second)
    expect(await scene.start(policyId)).toBe(second)
    held.release()
    for (const id of [runId, second])
      expect(await scene.ended(id)).toMatchObject({ status: 'succeeded', trigger: 'webhook', policyId })
  })
  test.each([
    ['curl -d and wget --post-data with nothing', '', 'application/x-www-form-urlencoded'],
    ['a form', 'a=1&b=2', 'application/x-www-form-urlencoded'],
    ['JSON', '{"any":"thing"}', 'application/json'],
    ['what is no JSON', '{broken', 'application/json'],
    ['text', 'hello', 'text/plain'],
    ['no content type', 'hello', undefined],
  ])('202: a body is ignored: %s', async (_, payload, type) => {
    const { id: policyId } = await scene.makePolicy()
    const { webhookToken } = await change(policyId, { enableWebhook: true })
    const headers = { authorization: `Bearer ${webhookToken}`, ...(type ? { 'content-type': type } : {}) }
    const answer = await scene.instance.app.inject({ method: 'POST', url: '/api/webhooks/backup', headers, payload })
    expect([answer.statusCode, answer.json().data?.runId]).toEqual([202, expect.stringMatching(/^bkr_/)])
    await scene.ended(answer.json().data.runId)
  })
  test('404: the response to every failure is byte for byte the same', async () => {
    const { id: policyId } = await scene.makePolicy()
    const { webhookToken } = await change(policyId, { enableWebhook: true })
    const rotated = (await change(policyId, { rotateWebhookToken: true })).webhookToken
    const off = await scene.makePolicy()
    const offToken = (await change(off.id, { enableWebhook: true })).webhookToken
    await change(off.id, { enabled: false })
    const gone = await scene.makePolicy()
    const goneToken = (await change(gone.id, { enableWebhook: true })).webhookToken
    await scene.as(owner(), 'DELETE /backup-policies/:policyId', { params: { policyId: gone.id } })
    await change(policyId, { enableWebhook: false })
    const answers = []
    for (const token of [undefined, '', 'x', webhookToken, rotated, offToken, goneToken, owner(), 'a'.repeat(5000)]) {
      const { statusCode, body } = await hook(token)
      answers.push(`${statusCode} ${body}`)
    }
    expect(new Set(answers).size).toBe(1)
    expect(answers[0]).toMatch(/^404 /)
  })
})

describe('retention', () => {
  test('keeps the configured number of runs, never removes a protected one, and removes only parts that no other run uses', async () => {
    const { id: policyId } = await scene.makePolicy({ retainCount: 1 })
    await scene.fill({ 'same.txt': `same of ${policyId}` })
    const first = await scene.backUp(policyId)
    await scene.as(owner(), 'POST /backup-runs/:runId/protect', { params: { runId: first.id } })
    const second = await scene.backUp(policyId)
    const third = await scene.backUp(policyId)
    expect((await scene.run(first.id)).prunedAt).toBeNull()
    expect((await scene.run(second.id)).prunedAt).not.toBeNull()
    expect(scene.stored().filter((name) => name.includes(second.id))).toEqual([])
    await scene.as(owner(), 'POST /backup-runs/:runId/protect', { params: { runId: first.id }, body: { protected: false } })
    const fourth = await scene.backUp(policyId)
    for (const { id } of [first, third]) expect((await scene.run(id)).prunedAt).not.toBeNull()
    // The bytes were stored by the first run; the last one still uses them.
    expect(await contentOf(fourth.id, 'data')).toEqual(await tarOf({ 'same.txt': `same of ${policyId}` }))
    expect(scene.stored().filter((name) => name.includes(first.id) && name.includes('manifest'))).toEqual([])
  })

  test('parts that the newest run references are kept when the run that stored them is removed', async () => {
    const { id: policyId } = await scene.makePolicy({ retainCount: 1 })
    await scene.fill({ 'kept.txt': `kept of ${policyId}` })
    const first = await scene.backUp(policyId)
    const second = await scene.backUp(policyId)
    expect((await scene.run(first.id)).prunedAt).not.toBeNull()
    expect(await contentOf(second.id, 'data')).toEqual(await tarOf({ 'kept.txt': `kept of ${policyId}` }))
  })
})

test('names that a destination lists outside the requested folder are not removed, by retention or after a failed run', async () => {
  const { id: policyId } = await scene.makePolicy({ retainCount: 1 })
  const foreign = ['zz/zz', `${scene.projectId}/bkr_another/data.0000.tar.zst.age`]
  const removed: string[] = []
  const lying = (store: ArchiveStore): Partial<ArchiveStore> => ({
    async *list(prefix, abort) {
      for (const name of foreign) yield { name, sizeBytes: 1, modifiedAt: '2020-01-01T00:00:00.000Z' }
      yield* store.list(prefix, abort)
    },
    async remove(name, abort) {
      removed.push(name)
      await store.remove(name, abort)
    },
  })
  scene.withStore(lying)
  const pruned = await scene.backUp(policyId)
  await scene.fill({ 'other.txt': `other of ${policyId}` })
  await scene.backUp(policyId)
  expect((await scene.run(pruned.id)).prunedAt).not.toBeNull()
  scene.withStore((store) => ({
    ...lying(store),
    async put(name, content, abort) {
      if (name.includes('manifest')) throw new StoreFailure('denied', 'You may not write there')
      return store.put(name, content, abort)
    },
  }))
  await scene.fill({ 'failed.txt': `failed of ${policyId}` })
  const failed = await scene.backUp(policyId)
  expect(failed.status).toBe('failed')
  for (const { id } of [pruned, failed]) expect(removed.some((name) => name.includes(id))).toBe(true)
  expect(removed.filter((name) => foreign.includes(name))).toEqual([])
})

describe('retention without a policy', () => {
  const kept = async (ids: string[]) => {
    const runs = await Promise.all(ids.map((id) => scene.run(id)))
    return runs.map(({ prunedAt }) => prunedAt === null)
  }
  test('runs of a deleted policy are kept by its retention, and the newest one is always kept', async () => {
    const { id: policyId } = await scene.makePolicy({ retainDays: 3 })
    const ids = [(await scene.backUp(policyId)).id, (await scene.backUp(policyId)).id]
    const other = await scene.backUp((await scene.makePolicy({ retainCount: 5 })).id)
    await scene.as(owner(), 'DELETE /backup-policies/:policyId', { params: { policyId } })
    await scene.instance.jobs.whenIdle()
    expect(await kept(ids)).toEqual([true, true])
    const createdAt = Date.now() - 4 * 86_400_000
    for (const id of [...ids, other.id]) await db().updateTable('backupRuns').set({ createdAt }).where('id', '=', id).execute()
    await db()
      .updateTable('backupRuns')
      .set({ createdAt: createdAt - 1 })
      .where('id', '=', ids[0] as string)
      .execute()
    await scene.instance.database.transaction(({ enqueue }) => enqueue({ kind: 'backups.prune-all' }, {}))
    await scene.instance.jobs.whenIdle()
    expect(await kept([...ids, other.id])).toEqual([false, true, true])
    expect(scene.stored().filter((name) => name.includes(ids[0] as string))).toEqual([])
  })
  test('the manifest of a run without volumes is removed too', async () => {
    const { id: policyId } = await scene.makePolicy({ retainCount: 1, payload: { volumes: [] } })
    const first = await scene.backUp(policyId)
    await scene.backUp(policyId)
    expect(await kept([first.id])).toEqual([false])
    expect(scene.stored().filter((name) => name.includes(first.id))).toEqual([])
  })
})

describe('deleting the project', () => {
  test('is refused while a run is in progress; with force it cancels the run and keeps the stored backups', async () => {
    const { id } = await scene.makeApp()
    const policy = await scene.as(owner(), 'POST /projects/:projectId/backup-policies', {
      params: { projectId: id },
      body: { destinationId: scene.destinationId, cronExpression: '@daily' },
    })
    const policyId = policy.body.data.id
    const good = await scene.backUp(policyId)
    expect([good.status, good.artifacts]).toEqual(['succeeded', []])
    const held = gate()
    scene.withStore((store) => ({
      async put(name, content, abort) {
        await held.wait(abort)
        return store.put(name, content, abort)
      },
    }))
    const runId = await scene.start(policyId)
    await held.begun
    const refused = await scene.as(owner(), 'DELETE /projects/:id', { params: { id } })
    expect([refused.status, refused.body.code, refused.body.error.includes(runId)]).toEqual([409, 'work_in_progress', true])
    const forced = await scene.as(owner(), 'DELETE /projects/:id', { params: { id }, query: { force: true } })
    expect(forced.status).toBe(200)
    expect(JSON.stringify(forced.body)).toContain(good.id)
    await scene.instance.jobs.whenIdle()
    expect((await scene.run(runId)).status).toBe('cancelled')
    expect((await scene.run(good.id)).status).toBe('succeeded')
  })
})
