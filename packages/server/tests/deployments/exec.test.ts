// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { limits } from '@berth/contract'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ExecCommand } from '../../src/drivers/runtime/runtime.ts'
import { hashToken } from '../../src/platform/secrets/token.ts'
import { call } from '../kit/call.ts'
import { type EventReader, readEvents } from '../kit/event-reader.ts'
import { makeToken } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'
import { type Scene, setScene } from './scene.ts'

/** `POST /projects/:id/exec`: a program inside a live project, over a stream. */
let scene: Scene
let id: string
const readers: EventReader[] = []
beforeAll(async () => {
  scene = await setScene()
  id = (await scene.makeApp()).id
  const upserts = [{ key: 'COLOR', value: 'canary-teal', isSecret: true }]
  await call(scene.instance, owner().token, 'PATCH /projects/:id/env', { params: { id }, body: { upserts } })
  expect((await scene.settled(await scene.deploy(id))).status).toBe('live')
})
afterAll(() => scene.end())
afterEach(() => {
  for (const reader of readers.splice(0)) reader.close()
})

const owner = () => scene.people.owner
type Inside = Scene['instance']['drivers']['runtime']['onExec']
const inside = (program: Inside) => {
  scene.instance.drivers.runtime.onExec = program
}
/** Runs until it is aborted; reports when it has begun and how it ended. */
function endless() {
  const begun = Promise.withResolvers<ExecCommand>()
  const ended = Promise.withResolvers<unknown>()
  inside(async (command, _instance, abort) => {
    begun.resolve(command)
    const { promise, reject } = Promise.withResolvers<never>()
    abort.addEventListener('abort', () => reject(abort.reason))
    return promise.catch((reason) => {
      ended.resolve(reason)
      throw reason
    })
  })
  return { begun: begun.promise, ended: ended.promise }
}

async function exec(body: object, token = owner().token, projectId = id): Promise<EventReader> {
  const reader = await readEvents(`${scene.url}/api/projects/${projectId}/exec`, { authorization: `Bearer ${token}` }, body)
  readers.push(reader)
  return reader
}
const refused = (body: object, projectId = id) =>
  call(scene.instance, owner().token, 'POST /projects/:id/exec', { params: { id: projectId }, body })
const input = (execId: string, token: string, bytes: string) =>
  call(scene.instance, token, 'POST /projects/:id/exec/:execId/input', {
    params: { id, execId },
    body: bytes,
    headers: { 'content-type': 'application/octet-stream' },
  })
const started = async (reader: EventReader): Promise<string> => {
  await expect.poll(() => reader.events[0]?.event).toBe('started')
  return reader.events[0]?.data.execId
}
const written = ({ events }: EventReader, stream: string) =>
  Buffer.concat(
    events.flatMap(({ event, data }) => (event === 'output' && data.stream === stream ? [Buffer.from(data.data, 'base64')] : [])),
  )

test('its arguments reach the program unchanged, with the project’s variables; the output is returned byte for byte, then the exit code', async () => {
  const argv = ['printf', '%s; $(id)', '`id` && "x"']
  const bytes = Buffer.from([0, 255, 10, 13, 128])
  let given: ExecCommand | undefined
  inside(async (command) => {
    given = command
    await command.onStdout?.(bytes)
    await command.onStderr?.(Buffer.from('careful\n'))
    return { exitCode: 42, stderrTail: '' }
  })
  const reader = await exec({ argv, env: { WORD: 'canary-word' } })
  await reader.ended
  expect(given).toMatchObject({ argv, env: { COLOR: 'canary-teal', WORD: 'canary-word' } })
  expect(given?.stdin).toBeUndefined()
  expect(written(reader, 'stdout')).toEqual(bytes)
  expect(written(reader, 'stderr').toString()).toBe('careful\n')
  expect(reader.events.at(-1)).toMatchObject({ event: 'exit', data: { exitCode: 42, message: null } })
})

test('a run is audited before it begins: with its arguments, without values of variables', async () => {
  const { begun } = endless()
  await exec({ argv: ['rake', 'db:seed'], env: { WORD: 'canary-word' } })
  await begun
  const { body } = await call(scene.instance, owner().token, 'GET /audit-log', { query: { limit: 1 } })
  expect(body.data[0]).toMatchObject({
    action: 'POST /projects/:id/exec',
    objectId: id,
    changes: { argv: ['rake', 'db:seed'], env: '[secret]' },
  })
  expect(JSON.stringify(body)).not.toContain('canary')
})

test('a large piece of output arrives completely', async () => {
  const large = Buffer.alloc(3_000_000, 'abcdefg')
  inside(async (command) => {
    await command.onStdout?.(large)
    return { exitCode: 0, stderrTail: '' }
  })
  const reader = await exec({ argv: ['cat'] })
  await reader.ended
  expect(written(reader, 'stdout').equals(large)).toBe(true)
})

test('the program reads its input to the end', async () => {
  inside(async ({ stdin, onStdout }) => {
    for await (const chunk of stdin ?? []) await onStdout?.(chunk)
    return { exitCode: 0, stderrTail: '' }
  })
  const reader = await exec({ argv: ['cat'], input: true })
  expect(await input(await started(reader), owner().token, 'one\ntwo\n')).toMatchObject({ status: 204 })
  await reader.ended
  expect(written(reader, 'stdout').toString()).toBe('one\ntwo\n')
})

test('only the user who started it can send input, once, and only to a program that reads', async () => {
  inside(async ({ stdin, onStdout }, _instance, abort) => {
    for await (const chunk of stdin ?? []) await onStdout?.(chunk)
    return new Promise((_, reject) => abort.addEventListener('abort', () => reject(abort.reason)))
  })
  const execId = await started(await exec({ argv: ['cat'], input: true }))
  expect((await input(execId, scene.people.admin.token, 'x')).status).toBe(404)
  expect((await input(execId, owner().token, 'x')).status).toBe(204)
  expect((await input(execId, owner().token, 'y')).status).toBe(409)
  const deaf = endless()
  const other = await started(await exec({ argv: ['cat'] }))
  await deaf.begun
  expect((await input(other, owner().token, 'x')).status).toBe(404)
})

test('a client that sends input to a program that reads none is released when the program ends', async () => {
  const { begun } = endless()
  const reader = await exec({ argv: ['sleep', '1000'], input: true })
  const execId = await started(reader)
  await begun
  const feeding = input(execId, owner().token, 'x')
  reader.close()
  expect([204, 404]).toContain((await feeding).status)
})

test('a run ends when its reader disconnects', async () => {
  const { begun, ended } = endless()
  const reader = await exec({ argv: ['sleep', '1000'] })
  await begun
  reader.close()
  expect(await ended).toBeInstanceOf(Error)
})

test('a run ends when its reader loses access, and the reader gets the reason', async () => {
  const { begun, ended } = endless()
  const token = await makeToken(scene.instance, owner())
  const reader = await exec({ argv: ['sleep', '1000'] }, token)
  await begun
  const { db } = scene.instance.database
  const { id: tokenId } = await db
    .selectFrom('tokens')
    .select('id')
    .where('secretHash', '=', hashToken(token))
    .executeTakeFirstOrThrow()
  await call(scene.instance, owner().token, 'DELETE /tokens/:id', { params: { id: tokenId } })
  await ended
  await reader.ended
  expect(reader.events.at(-1)).toMatchObject({ event: 'closed', data: { code: 'unauthorized' } })
})

test('a program with endless output is ended, with the reason', async () => {
  inside(async ({ onStdout }, _instance, abort) => {
    await onStdout?.({ length: limits.execOutputBytes + 1 } as Uint8Array)
    abort.throwIfAborted()
    return { exitCode: 0, stderrTail: '' }
  })
  const reader = await exec({ argv: ['yes'] })
  await reader.ended
  expect(reader.events.at(-1)).toMatchObject({
    event: 'exit',
    data: { exitCode: null, message: expect.stringContaining('wrote more') },
  })
})

test(`at most ${limits.execsOfProject} run at once in a project; after one has ended another can start`, async () => {
  endless()
  const all = []
  for (let count = 0; count < limits.execsOfProject; count++) all.push(await exec({ argv: ['sleep', '1000'] }))
  await Promise.all(all.map(started))
  expect(await refused({ argv: ['true'] })).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  all[0]?.close()
  await expect.poll(async () => (await exec({ argv: ['true'] })).status).toBe(200)
})

test('409 if no deployment is live, 400 for an unknown service', async () => {
  const fresh = await makeProject(scene.instance, owner().token, {})
  expect(await refused({ argv: ['true'] }, fresh.id)).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining('Deploy it first') },
  })
  expect(await refused({ argv: ['true'], environment: 'nowhere' })).toMatchObject({ status: 400, body: { field: 'environment' } })
  expect(await refused({ argv: ['true'], service: 'db' })).toMatchObject({
    status: 400,
    body: { field: 'service', error: expect.stringMatching(/the services are \w|a single service/) },
  })
  expect(await refused({ argv: [] })).toMatchObject({ status: 400, body: { field: 'argv' } })
})

test('a member, who may deploy, needs project:admin for it', async () => {
  const { status, body } = await call(scene.instance, scene.people.member.token, 'POST /projects/:id/exec', {
    params: { id },
    body: { argv: ['true'] },
  })
  expect([status, body.permission]).toEqual([403, 'project:admin'])
})
