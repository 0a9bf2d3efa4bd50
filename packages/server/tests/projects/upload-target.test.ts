import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { limits } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TarEntry, tarball } from '../../src/drivers/tarball/hostile-corpus.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

interface Target {
  sessionId: string
  upload: { url: string; method: string; headers: Record<string, string> }
}

let base: string
let instance: TestInstance
let people: People
let port: number
beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'berth-target-'))
  mkdirSync(join(base, 'roots'))
  instance = await startInstance({ BERTH_DATA_DIR: join(base, 'data'), BERTH_PROJECT_ROOTS: join(base, 'roots') })
  people = await makePeople(instance)
  await instance.app.listen({ host: '127.0.0.1', port: 0 })
  port = (instance.app.server.address() as AddressInfo).port
})
afterAll(async () => {
  await instance.stop()
  rmSync(base, { recursive: true, force: true })
})

const open = async (body: object = {}, token = people.member.token): Promise<Target> =>
  (await call(instance, token, 'POST /projects/folder/session', { body })).body.data
const good = tarball({ name: 'package.json', content: JSON.stringify({ name: 'shop', dependencies: { express: '5' } }) })
/** The target as it was returned, at the port that the test listens on; nothing is added. */
const send = ({ upload: { url, method, headers } }: Target, body: Uint8Array, path = new URL(url).pathname) =>
  fetch(`http://127.0.0.1:${port}${path}${new URL(url).search}`, { method, headers, body: Buffer.from(body) })

describe('the upload target', () => {
  test('works as returned, without any other credential', async () => {
    const target = await open()
    expect((await send(target, Buffer.from('not a tarball'))).status).toBe(400)
    // A second try of the same upload needs no other target.
    const answer = await send(target, good)
    expect([answer.status, (await answer.json()).data.sessionId]).toEqual([200, target.sessionId])
    expect((await send(target, good)).status).toBe(409)
  })

  test('is valid for this upload only', async () => {
    const [one, other] = [await open(), await open()]
    const elsewhere = `/api/projects/folder/upload/${other.sessionId}`
    expect((await send(one, good, elsewhere)).status).toBe(401)
    expect((await fetch(`http://127.0.0.1:${port}/api/projects`, { headers: one.upload.headers })).status).toBe(401)
    const altered = { ...one, upload: { ...one.upload, headers: { ...one.upload.headers, 'x-berth-upload-token': 'x' } } }
    expect((await send(altered, good)).status).toBe(401)
  })

  test('ends with the credential that opened the session', async () => {
    const token = await makeToken(instance, people.member, {})
    const target = await open({}, token)
    await instance.database.db.deleteFrom('tokens').where('userId', '=', people.member.userId).execute()
    expect((await send(target, good)).status).toBe(401)
    people.member.token = await makeToken(instance, people.member, {})
  })

  test('is for the project that the session was opened for', async () => {
    const project = await makeProject(instance, people.admin.token)
    const limited = await makeToken(instance, people.admin, { projectIds: [project.id] })
    expect((await send(await open({ projectId: project.id }, limited), good)).status).toBe(200)
  })
})

describe('more than 300 MB', () => {
  const requested = async (headers: Record<string, string | number>, write: (stream: ReturnType<typeof request>) => void) => {
    const { upload } = await open()
    return new Promise<{ status: number; continued: boolean }>((resolve, reject) => {
      let continued = false
      const stream = request({ port, host: '127.0.0.1', path: new URL(upload.url).pathname, method: upload.method })
      for (const [name, value] of Object.entries({ ...upload.headers, ...headers })) stream.setHeader(name, value)
      stream.on('continue', () => {
        continued = true
        write(stream)
      })
      stream.on('response', (response) => {
        response.resume()
        resolve({ status: response.statusCode!, continued })
        stream.destroy()
      })
      stream.on('error', reject)
      stream.flushHeaders()
      if (!('expect' in headers)) write(stream)
    })
  }

  test('are refused by Content-Length, before 100 Continue and before a byte is sent', async () => {
    const tooMany = { 'content-length': limits.tarballBytes + 1 }
    expect(await requested({ ...tooMany, expect: '100-continue' }, () => {})).toEqual({ status: 413, continued: false })
    expect(await requested(tooMany, () => {})).toEqual({ status: 413, continued: false })
  })

  test('a smaller upload with Expect gets 100 Continue', async () => {
    const headers = { 'content-length': good.length, expect: '100-continue' }
    expect(await requested(headers, (stream) => void stream.end(good))).toEqual({ status: 200, continued: true })
  })

  test('an expired session is refused before a byte is sent', async () => {
    const { upload } = await open()
    const answer = await new Promise<number>((resolve, reject) => {
      const path = '/api/projects/folder/upload/upl_nowhere'
      const headers = { ...upload.headers, authorization: `Bearer ${people.member.token}`, expect: '100-continue' }
      const stream = request({ port, host: '127.0.0.1', path, method: 'POST', headers: { ...headers, 'content-length': 9 } })
      stream.on('continue', () => reject(new Error('100 Continue was received')))
      stream.on('response', (response) => {
        resolve(response.statusCode!)
        stream.destroy()
      })
      stream.on('error', reject)
      stream.flushHeaders()
    })
    expect(answer).toBe(404)
  })
})

describe('the unchanged scan with a name is a body of `ensure`', () => {
  const fixtures = join(import.meta.dirname, '../detection/fixtures')
  const names = readdirSync(fixtures, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  const entriesOf = (folder: string): TarEntry[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((path) => statSync(path).isFile())
      .map((path) => ({ name: relative(folder, path), content: readFileSync(path, 'utf8') }))
  const ensure = (body: object, token = people.member.token) => call(instance, token, 'POST /projects/ensure', { body })

  test.each(names)('%s in an upload', async (name) => {
    const { sessionId, ...target } = await open()
    expect((await send({ sessionId, ...target }, tarball(...entriesOf(join(fixtures, name))))).status).toBe(200)
    const params = { sessionId }
    const scan = (await call(instance, people.member.token, 'POST /projects/folder/scan/:sessionId', { params })).body.data
    expect(scan).toMatchObject({ gitProvider: 'upload', uploadSessionId: sessionId })
    const created = await ensure({ ...scan, name: 'Scanned' })
    expect([created.status, created.body.error]).toEqual([201, undefined])
    const { source, config, type } = created.body.data
    expect([source.kind, config.framework, type]).toEqual(['upload', scan.framework, scan.type])
    // The Compose file still defines its services.
    expect(config.services).toEqual([])
    const again = await ensure({ ...scan, name: 'Scanned', projectId: created.body.data.id })
    expect([again.status, again.body.data.config]).toEqual([200, config])
  })

  test.each(['static-html', 'compose', 'monorepo-turbo', 'express'])('%s in a local folder', async (name) => {
    const path = join(base, 'roots', name)
    cpSync(join(fixtures, name), path, { recursive: true })
    const scan = (await call(instance, people.admin.token, 'POST /projects/scan', { body: { path } })).body.data
    expect(scan).toMatchObject({ gitProvider: 'local', localPath: path })
    const { status, body } = await ensure({ ...scan, name: 'Scanned' }, people.admin.token)
    expect([status, body.data.source]).toMatchObject([201, { kind: 'local', path }])
    expect(body.data.config.services).toEqual([])
  })

  test('services that differ from those of the file are kept', async () => {
    const target = await open()
    await send(target, tarball(...entriesOf(join(fixtures, 'compose'))))
    const services = [{ name: 'own', image: 'redis' }]
    const { body } = await ensure({ name: 'Own', gitProvider: 'upload', uploadSessionId: target.sessionId, services })
    expect(body.data.config.services).toEqual(services)
  })
})
