// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { NewEntry } from '../../src/platform/log-store/log-entry.ts'
import { readEvents } from '../kit/event-reader.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

let base: string
let instance: TestInstance
let people: People
let url: string
let project: { id: string }
let on: ReturnType<ReturnType<typeof callsOn>>
beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'berth-logs-'))
  instance = await startInstance({ BERTH_DATA_DIR: base })
  people = await makePeople(instance)
  url = `${await instance.app.listen({ host: '127.0.0.1', port: 0 })}/api/projects`
})
beforeEach(async () => {
  project = await makeProject(instance, people.member.token)
  on = callsOn(instance, people.viewer.token)(project)
})
afterAll(async () => {
  await instance.stop()
  rmSync(base, { recursive: true, force: true })
})

const line = (message: string, more: Partial<NewEntry<'runtime'>> = {}): NewEntry<'runtime'> => ({
  ...{ stream: 'stdout', service: null, deploymentId: null, message },
  ...more,
})
const report = (...entries: (string | NewEntry<'runtime'>)[]) =>
  instance.logStore.append(
    project.id,
    'runtime',
    entries.map((entry) => (typeof entry === 'string' ? line(entry) : entry)),
  )
const logs = async (query: Record<string, string | number> = {}) => (await on('GET', '/logs', undefined, { query })).body.data
const messages = async (query: Record<string, string | number> = {}) =>
  (await logs(query)).map(({ message }: { message: string }) => message)
const read = (path: string, headers: Record<string, string> = {}, token: string | null = people.viewer.token) =>
  readEvents(`${url}/${project.id}${path}`, { ...(token ? { authorization: `Bearer ${token}` } : {}), ...headers })

describe('GET /projects/:id/logs', () => {
  test('`limit` is another name of `tail`; a parameter that does not exist is named in `warnings`', async () => {
    await report('one', 'two', 'three')
    expect(await messages({ limit: 2 })).toEqual(['two', 'three'])
    expect(await messages({ limit: 2, tail: 1 })).toEqual(['three'])
    const { body } = await on('GET', '/logs', undefined, { query: { lines: 2 } })
    expect(body.warnings).toEqual(['Unknown query parameter ignored: lines'])
    expect((await on('GET', '/logs', undefined, { query: { limit: 0 } })).body.field).toBe('limit')
  })

  test('returns the newest lines, oldest first, each with its time, stream and service', async () => {
    await report('one', line('two', { stream: 'stderr', time: '2026-01-02T03:04:05.678Z' }))
    expect(await logs()).toEqual([
      { id: expect.any(String), time: expect.any(String), stream: 'stdout', environment: null, service: null, message: 'one' },
      {
        id: expect.any(String),
        time: '2026-01-02T03:04:05.678Z',
        stream: 'stderr',
        environment: null,
        service: null,
        message: 'two',
      },
    ])
  })

  test('returns 200 lines by default, or as many as tail says', async () => {
    await report(...Array.from({ length: 250 }, (_, number) => `line ${number}`))
    const shown = await messages()
    expect([shown.length, shown[0], shown.at(-1)]).toEqual([200, 'line 50', 'line 249'])
    expect(await messages({ tail: 2 })).toEqual(['line 248', 'line 249'])
  })

  test('is filtered by since, deployment and q', async () => {
    await report(
      line('early', { time: '2026-01-01T00:00:00Z', deploymentId: 'dep_a' }),
      line('Late error', { time: '2026-01-03T00:00:00Z', deploymentId: 'dep_b' }),
    )
    expect(await messages({ since: '2026-01-02T00:00:00Z' })).toEqual(['Late error'])
    expect(await messages({ deployment: 'dep_a' })).toEqual(['early'])
    expect(await messages({ q: 'ERROR' })).toEqual(['Late error'])
    expect(await messages({ q: 'nothing like it' })).toEqual([])
  })

  test.each([
    ['tail', 0],
    ['tail', 5001],
    ['tail', 'all'],
    ['since', 'yesterday'],
  ])('400 names the field: %s %s', async (field, value) => {
    const { status, body } = await on('GET', '/logs', undefined, { query: { [field]: value } })
    expect([status, body.field]).toEqual([400, field])
  })

  test('returns the lines of the exposed service by default, or those of the named service', async () => {
    const services = [
      { name: 'db', image: 'postgres', ports: [5432] },
      { name: 'web', image: 'shop', exposed: true, ports: [80] },
    ]
    project = await makeProject(instance, people.member.token, { type: 'services', services })
    on = callsOn(instance, people.viewer.token)(project)
    await report(line('from web', { service: 'web' }), line('from db', { service: 'db' }))
    expect(await messages()).toEqual(['from web'])
    expect(await messages({ service: 'db' })).toEqual(['from db'])
  })

  test('404 for another organisation', async () => {
    const outsider = callsOn(instance, (await makePeople(instance)).owner.token)(project)
    expect((await outsider('GET', '/logs')).status).toBe(404)
  })
})

describe('GET /projects/:id/logs/stream', () => {
  test('begins with the tail and continues with new lines, no line twice', async () => {
    await report('before')
    const reader = await read('/logs/stream')
    await expect.poll(() => reader.events.length).toBe(1)
    await report('after one', 'after two')
    await expect.poll(() => reader.events.map(({ data }) => data.message)).toEqual(['before', 'after one', 'after two'])
    expect(reader.events.map(({ event, id, data }) => [event, id === data.id])).toEqual(Array(3).fill(['log', true]))
    reader.close()
  })

  test('resumes after Last-Event-ID without loss or repetition', async () => {
    await report('one', 'two')
    const first = await read('/logs/stream')
    await expect.poll(() => first.events.length).toBe(2)
    first.close()
    await report('three')
    const second = await read('/logs/stream', { 'last-event-id': first.events[0]!.id! })
    await expect.poll(() => second.events.map(({ data }) => data.message)).toEqual(['two', 'three'])
    await report('four')
    await expect.poll(() => second.events.map(({ data }) => data.message)).toEqual(['two', 'three', 'four'])
    second.close()
  })

  test('starts again for an unknown id', async () => {
    await report('one')
    const reader = await read('/logs/stream', { 'last-event-id': 'not ours' })
    await expect.poll(() => reader.events.length).toBe(1)
    reader.close()
  })

  test('sends only matching lines', async () => {
    const reader = await read('/logs/stream?q=wanted')
    await report('unrelated', 'wanted')
    await expect.poll(() => reader.events.map(({ data }) => data.message)).toEqual(['wanted'])
    reader.close()
  })

  test('ends when the project is deleted with its logs', async () => {
    await report('last words')
    const reader = await read('/logs/stream')
    await expect.poll(() => reader.events.length).toBe(1)
    expect(existsSync(join(base, 'logs', project.id))).toBe(true)
    const owner = callsOn(instance, people.owner.token)(project)
    const preview = (await owner('GET', '/deletion-preview')).body.data.items
    expect(preview.filter(({ kind }: { kind: string }) => kind === 'logs')).toHaveLength(1)
    expect((await owner('DELETE', '')).status).toBe(200)
    await reader.ended
    expect(existsSync(join(base, 'logs', project.id))).toBe(false)
  })
})

describe('request logs', () => {
  const requested = (path: string, more: Partial<NewEntry<'requests'>> = {}): NewEntry<'requests'> => ({
    ...{
      ip: '203.0.113.7',
      method: 'GET',
      host: 'shop.localhost',
      path,
      status: 200,
      durationMs: 1.5,
      bytesIn: 10,
      bytesOut: 20,
    },
    ...{ userAgent: 'curl', deploymentId: 'dep_a' },
    ...more,
  })
  const serve = (...entries: NewEntry<'requests'>[]) => instance.logStore.append(project.id, 'requests', entries)
  const recent = async (query: Record<string, string | number> = {}) =>
    (await on('GET', '/server-logs/recent', undefined, { query })).body.data
  const paths = async (query: Record<string, string | number>) => (await recent(query)).map(({ path }: { path: string }) => path)

  test('GET /server-logs/recent: has every field, and filters', async () => {
    await serve(
      requested('/'),
      requested('/api/items', { method: 'POST', status: 503, userAgent: null }),
      requested('/api', { status: 404 }),
    )
    expect((await recent())[1]).toEqual({
      id: expect.any(String),
      time: expect.any(String),
      ...requested('/api/items', { method: 'POST', status: 503, userAgent: null }),
      ...{ environment: null, service: null },
    })
    expect(await paths({ limit: 1 })).toEqual(['/api'])
    expect(await paths({ status: '5xx' })).toEqual(['/api/items'])
    expect(await paths({ status: '404' })).toEqual(['/api'])
    expect(await paths({ method: 'post' })).toEqual(['/api/items'])
    expect(await paths({ path: '/api' })).toEqual(['/api/items', '/api'])
    expect(await paths({ q: 'items' })).toEqual(['/api/items'])
  })

  test('GET /server-logs/stream: new requests, with a normal credential', async () => {
    await serve(requested('/before'))
    const reader = await read('/server-logs/stream?method=GET')
    await serve(requested('/one'), requested('/two', { method: 'POST' }))
    await expect.poll(() => reader.events.map(({ event, data }) => [event, data.path])).toEqual([['request', '/one']])
    reader.close()
    await serve(requested('/three'))
    const again = await read('/server-logs/stream', { 'last-event-id': reader.events[0]!.id! })
    await expect.poll(() => again.events.map(({ data }) => data.path)).toEqual(['/two', '/three'])
    again.close()
  })

  test('a stream token opens this stream once, without any other credential', async () => {
    const { status, body } = await on('GET', '/server-logs/stream-token')
    const { token, url: path, expiresAt } = body.data
    expect([status, path]).toEqual([200, `/api/projects/${project.id}/server-logs/stream`])
    expect(Math.abs(Date.parse(expiresAt) - Date.now() - 60_000)).toBeLessThan(30_000)
    const reader = await read(`/server-logs/stream?token=${token}`, {}, null)
    expect(reader.status).toBe(200)
    await serve(requested('/seen'))
    await expect.poll(() => reader.events.map(({ data }) => data.path)).toEqual(['/seen'])
    reader.close()
    expect((await read(`/server-logs/stream?token=${token}`, {}, null)).status).toBe(401)
  })

  test('a stream token does not open the stream of another project, and is used up by the attempt', async () => {
    const { token } = (await on('GET', '/server-logs/stream-token')).body.data
    const other = await makeProject(instance, people.member.token)
    expect((await readEvents(`${url}/${other.id}/server-logs/stream?token=${token}`)).status).toBe(401)
    expect((await read(`/server-logs/stream?token=${token}`, {}, null)).status).toBe(401)
  })

  test('a stream token expires after a minute', async () => {
    const { token } = (await on('GET', '/server-logs/stream-token')).body.data
    await instance.database.db.updateTable('streamTokens').set({ expiresAt: 1 }).execute()
    expect((await read(`/server-logs/stream?token=${token}`, {}, null)).status).toBe(401)
  })

  test('a token limited to another project gets no stream token', async () => {
    const limited = await makeToken(instance, people.member, { projectIds: ['prj_other'] })
    expect((await callsOn(instance, limited)(project)('GET', '/server-logs/stream-token')).status).toBe(404)
  })
})
