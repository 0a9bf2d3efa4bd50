// gate: also on PostgreSQL, since a deletion takes the rows of every module along
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DeletionItem } from '@berth/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { beginOperation } from '../../src/modules/projects/index.ts'
import { newId } from '../../src/platform/db/ids.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { MemoryPart } from '../kit/project-ports.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

const part = new MemoryPart()
let ahead = 0
const clock = { now: () => new Date(Date.now() + ahead) }
let folder: string
let instance: TestInstance
let people: People
let project: { id: string; name: string }
let on: ReturnType<ReturnType<typeof callsOn>>
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-folder-'))
  mkdirSync(join(folder, 'mine'))
  instance = await startInstance({ BERTH_PROJECT_ROOTS: folder }, { projectPorts: { parts: [part] }, clock })
  people = await makePeople(instance)
  await instance.jobs.start()
})
beforeEach(async () => {
  part.failures = 0
  project = await makeProject(instance, people.admin.token, { localPath: join(folder, 'mine') })
  on = callsOn(instance, people.admin.token)(project)
  part.items.set(project.id, [item('image', 'img_1', 1000), item('volume', 'vol_1', 5000)])
  await on('PATCH', '/env', { upserts: [{ key: 'A', value: 'x' }] })
  await on('POST', '/connect', { domain: `${project.id.slice(4)}.customer.test` })
})
afterAll(async () => {
  await instance.jobs.stop()
  await instance.stop()
  rmSync(folder, { recursive: true, force: true })
})

const item = (kind: string, id: string, sizeBytes: number): DeletionItem => ({ kind, id, name: id, sizeBytes, kept: false })
const kinds = (items: DeletionItem[]) => items.map(({ kind }) => kind).sort()
const remove = (query = {}) => on('DELETE', '', undefined, { query })
const deploy = async () => {
  const id = newId('dep')
  await instance.database.transaction((transaction) =>
    beginOperation({ projectId: project.id, environment: 'production', kind: 'deploy', subjectId: id }, transaction, { clock }),
  )
  return id
}
const rowsLeft = async () => {
  const { db } = instance.database
  const counts = await Promise.all(
    (['environments', 'envVariables', 'domains', 'grants', 'projectOperations'] as const).map((table) =>
      db.selectFrom(table).selectAll().where('projectId', '=', project.id).execute(),
    ),
  )
  return counts.map((rows) => rows.length)
}

describe('GET /projects/:id/deletion-preview', () => {
  test('lists removed and kept items with their sizes, and changes nothing', async () => {
    const { status, body } = await on('GET', '/deletion-preview')
    expect([status, body.data.projectId, body.data.totalSizeBytes, body.data.blockedBy]).toEqual([200, project.id, 1000, []])
    const kept = body.data.items.filter(({ kept }: DeletionItem) => kept)
    expect(kinds(kept)).toEqual(['folder', 'volume'])
    expect(kinds(body.data.items)).toEqual(['domain', 'environment', 'folder', 'image', 'project', 'variable', 'volume'])
    expect((await on('GET', '')).status).toBe(200)
  })

  test('names the running operation', async () => {
    const id = await deploy()
    expect((await on('GET', '/deletion-preview')).body.data.blockedBy).toEqual([{ kind: 'deployment', id, status: 'running' }])
  })
})

describe('DELETE /projects/:id', () => {
  test('lists removed and kept items; volumes and the folder of the user are kept', async () => {
    await on('PUT', '/grants', { userId: people.viewer.userId, level: 'write' })
    const { items } = (await on('GET', '/deletion-preview')).body.data
    const { status, body } = await remove()
    expect([status, body.data.projectId]).toEqual([200, project.id])
    expect(body.data.removed).toEqual(items.filter(({ kept }: DeletionItem) => !kept))
    expect(kinds(body.data.kept)).toEqual(['folder', 'volume'])
    expect(part.items.get(project.id)).toMatchObject([{ kind: 'volume' }])
    expect((await on('GET', '')).status).toBe(404)
    expect(await rowsLeft()).toEqual([0, 0, 0, 0, 0])
    expect((await remove()).status).toBe(404)
  })

  test('?deleteVolumes=true removes the volumes too', async () => {
    const { body } = await remove({ deleteVolumes: true })
    expect(kinds(body.data.kept)).toEqual(['folder'])
    expect(part.items.get(project.id)).toEqual([])
  })

  test('409 work_in_progress names the running operation; nothing is removed', async () => {
    const id = await deploy()
    const { status, body } = await remove()
    expect([status, body.code]).toEqual([409, 'work_in_progress'])
    expect(body.error).toMatch(new RegExp(`deployment ${id} \\(running, since 20`))
    expect((await on('GET', '')).body.data.status).not.toBe('deleting')
    expect(part.items.get(project.id)).toHaveLength(2)
  })

  test('?force=true cancels first', async () => {
    await deploy()
    expect((await remove({ force: true })).status).toBe(200)
    expect(await rowsLeft()).toEqual([0, 0, 0, 0, 0])
  })

  test('403: project:admin is required', async () => {
    const { status, body } = await callsOn(instance, people.member.token)(project)('DELETE', '')
    expect([status, body.permission]).toEqual([403, 'project:admin'])
  })

  test('400: invalid flags', async () => {
    for (const name of ['force', 'deleteVolumes']) {
      const { status, body } = await remove({ [name]: 'perhaps' })
      expect([status, body.field]).toEqual([400, name])
    }
  })

  test('its name and its domain can be used again', async () => {
    const domain = `${project.id.slice(4)}.customer.test`
    await remove()
    const next = await makeProject(instance, people.admin.token)
    expect((await callsOn(instance, people.admin.token)(next)('POST', '/connect', { domain })).status).toBe(201)
  })
})

describe('a deletion that cannot be finished at once', () => {
  test('continues automatically; meanwhile the project is `deleting` and cannot be changed', async () => {
    part.failures = 1
    const { status, body } = await remove()
    expect([status, body.code]).toEqual([503, 'unavailable'])
    expect((await on('GET', '')).body.data).toMatchObject({ status: 'deleting', statusReason: expect.any(String) })
    expect((await on('PATCH', '', { name: 'Other' })).body.code).toBe('work_in_progress')
    expect((await on('PATCH', '/env', { deletes: ['A'] })).body.code).toBe('work_in_progress')
    expect((await on('POST', '/connect', { domain: 'late.customer.test' })).body.code).toBe('work_in_progress')
    expect((await on('POST', '/disable')).body.code).toBe('work_in_progress')
    expect((await on('POST', '/routing/retry')).body.code).toBe('conflict')
    expect((await remove()).body.code).toBe('work_in_progress')
    ahead += 61_000
    await instance.jobs.whenIdle()
    expect((await on('GET', '')).status).toBe(404)
  })

  test('after a crash in the middle the next process continues, and keeps the volumes', async () => {
    const died = Promise.withResolvers<never>()
    const begun = Promise.withResolvers<void>()
    const { remove: real } = part
    part.remove = () => {
      begun.resolve()
      return died.promise
    }
    const removal = remove()
    await begun.promise
    expect((await on('GET', '')).body.data.status).toBe('deleting')
    part.remove = real
    await instance.jobs.stop()
    // The same database under a new process, a minute later.
    ahead += 61_000
    const next = await startInstance({}, { database: instance.database, projectPorts: { parts: [part] }, clock })
    await next.jobs.start()
    await next.jobs.whenIdle()
    expect((await on('GET', '')).status).toBe(404)
    expect(part.items.get(project.id)).toMatchObject([{ kind: 'volume' }])
    await next.jobs.stop()
    await next.stop()
    died.reject(new Error('the old process is gone'))
    await removal
  })
})
