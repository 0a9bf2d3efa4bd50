// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hostileCorpus, tarball } from '../../src/drivers/tarball/hostile-corpus.ts'
import { createLogger } from '../../src/instance/logger.ts'
import { insertMember } from '../../src/modules/access/people.ts'
import { signUpload } from '../../src/modules/projects/uploads/upload-address.ts'
import { openKeyRing } from '../../src/platform/secrets/key-ring.ts'
import { createScrubber } from '../../src/platform/secrets/scrubber.ts'
import { createSecretBox } from '../../src/platform/secrets/secret-box.ts'
import { beforeSql } from '../kit/before-sql.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'

/** A cloud instance has no relay: a session returns a signed URL of the service's own storage. */

const scrubber = createScrubber()
let base: string
let secretBox: ReturnType<typeof createSecretBox>
let cloud: TestInstance
let people: People
let logged = ''
/** How far the instance's clock is ahead of the real one. */
let aheadMs = 0
const clock = { now: () => new Date(Date.now() + aheadMs) }

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'berth-cloud-uploads-'))
  secretBox = createSecretBox(openKeyRing({ folder: base, fromSettings: null }))
  const output = {
    write: (line: string) => {
      logged += line
    },
  }
  const logger = await createLogger({ level: 'trace', scrubber, format: 'json', output })
  const env = { BERTH_MODE: 'cloud', BERTH_DATA_DIR: base, BERTH_PUBLIC_URL: 'https://cloud.example.test' }
  cloud = await startInstance(env, { secretBox, clock, scrubber, logger })
  people = await makePeople(cloud)
})
afterAll(async () => {
  await cloud.stop()
  rmSync(base, { recursive: true, force: true })
})

const good = tarball(
  { name: 'package.json', content: JSON.stringify({ name: 'shop', dependencies: { express: '5' } }) },
  { name: 'index.js', content: 'app.listen(3000)' },
)
interface Session {
  sessionId: string
  expiresAt: string
  upload: { url: string; method: string; headers: Record<string, string> }
}
const open = async (token = people.member.token): Promise<Session> => {
  const { status, body } = await call(cloud, token, 'POST /projects/folder/session', { body: { name: 'Shop' } })
  expect(status).toBe(201)
  return body.data
}
const pathOf = (url: string | URL) => {
  const { pathname, search } = new URL(url)
  return pathname + search
}
/** Sends the upload exactly as the reply describes it. */
async function put(url: string | URL, payload: Buffer, headers: Record<string, string> = { 'content-type': 'application/gzip' }) {
  const response = await cloud.app.inject({ method: 'PUT', url: pathOf(url), headers, payload })
  return { status: response.statusCode, body: response.json() }
}
const rowOf = (id: string) =>
  cloud.database.db.selectFrom('uploadSessions').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const files = () => (existsSync(join(base, 'uploads')) ? readdirSync(join(base, 'uploads')) : [])
const notGood = { status: 404, body: { code: 'not_found', error: 'This upload URL is invalid or has expired' } }
const nothingCame = async (id: string) => {
  expect((await rowOf(id)).status).toBe('open')
  expect(files().filter((name) => name.startsWith(id))).toEqual([])
}

describe('a session of a cloud instance', () => {
  test('201: a URL of the service itself, the method PUT, and the content type to send', async () => {
    const { sessionId, expiresAt, upload } = await open()
    expect(upload).toEqual({ url: expect.any(String), method: 'PUT', headers: { 'content-type': 'application/gzip' } })
    const { origin, pathname, searchParams } = new URL(upload.url)
    expect([origin, pathname]).toEqual(['https://cloud.example.test', `/api/uploads/${sessionId}`])
    expect(Object.fromEntries(searchParams)).toEqual({
      expires: String(Date.parse(expiresAt)),
      maxBytes: '300000000',
      signature: expect.stringMatching(/^[0-9a-f]{8}\.[\w-]{43}$/),
    })
  })

  test('session, PUT without a credential, scan, ensure: a project of the upload', async () => {
    const { sessionId, upload } = await open()
    const stored = await put(upload.url, good)
    expect(stored).toEqual({ status: 200, body: { data: { sessionId, sizeBytes: good.length, files: 2 } } })
    expect(readFileSync(cloud.projects.uploadFile(sessionId)).equals(good)).toBe(true)
    const { token } = people.member
    const scan = await call(cloud, token, 'POST /projects/folder/scan/:sessionId', { params: { sessionId } })
    expect([scan.status, scan.body.data.name, scan.body.data.framework]).toEqual([200, 'shop', 'express'])
    const body = { name: scan.body.data.name, gitProvider: 'upload', uploadSessionId: sessionId, framework: 'express' }
    const ensured = await call(cloud, token, 'POST /projects/ensure', { body })
    expect([ensured.status, ensured.body.data.source.kind]).toEqual([201, 'upload'])
  })

  test('the relay does not exist in cloud mode, and the storage URL does not exist on a self-hosted instance', async () => {
    const { sessionId, upload } = await open()
    const headers = { authorization: `Bearer ${people.member.token}`, 'content-type': 'application/gzip' }
    const relay = { method: 'POST', url: `/api/projects/folder/upload/${sessionId}`, headers, payload: good } as const
    expect((await cloud.app.inject(relay)).statusCode).toBe(404)
    const selfHosted = await startInstance({ BERTH_DATA_DIR: base }, { database: cloud.database, secretBox })
    const stored = { method: 'PUT', url: pathOf(upload.url), headers, payload: good } as const
    expect((await selfHosted.app.inject(stored)).statusCode).toBe(404)
    await selfHosted.stop()
    await nothingCame(sessionId)
  })
})

describe('PUT /uploads/:sessionId', () => {
  test('404, the same response for any part that is altered, missing or from another session', async () => {
    const [mine, other] = [await open(), await open()]
    const altered = (change: (url: URL) => void) => {
      const url = new URL(mine.upload.url)
      change(url)
      return url
    }
    const addresses = [
      altered(({ searchParams }) => searchParams.set('expires', '9999999999999')),
      altered(({ searchParams }) => searchParams.set('maxBytes', '900000000')),
      altered(({ searchParams }) => searchParams.set('signature', new URL(other.upload.url).searchParams.get('signature')!)),
      altered(({ searchParams }) => searchParams.set('signature', 'x'.repeat(52))),
      altered((url) => {
        url.pathname = new URL(other.upload.url).pathname
      }),
      altered((url) => {
        url.pathname = '/api/uploads/upl_none'
      }),
      altered((url) => {
        url.search = ''
      }),
      ...['expires', 'maxBytes', 'signature'].map((name) => altered(({ searchParams }) => searchParams.delete(name))),
    ]
    for (const url of addresses) expect(await put(url, good)).toEqual(notGood)
    for (const { sessionId } of [mine, other]) await nothingCame(sessionId)
    expect((await put(mine.upload.url, good)).status).toBe(200)
  })

  test('a credential has no effect: only the signature counts', async () => {
    const { sessionId, upload } = await open()
    const outsider = (await makePeople(cloud)).owner.token
    const headers = { 'content-type': 'application/gzip', authorization: `Bearer ${outsider}` }
    expect(await put(`https://x.test/api/uploads/${sessionId}`, good, headers)).toEqual(notGood)
    expect((await put(upload.url, good, headers)).status).toBe(200)
  })

  test('404 if the session belongs to another organisation than the signature', async () => {
    const { sessionId, upload } = await open()
    const { organizationId } = await makePeople(cloud)
    await cloud.database.transaction(async ({ db }) => {
      await insertMember(db, organizationId, people.member.userId, 'member', Date.now())
      await db.updateTable('uploadSessions').set({ organizationId }).where('id', '=', sessionId).execute()
    })
    expect(await put(upload.url, good)).toEqual(notGood)
    await nothingCame(sessionId)
  })

  test('404 once the user who opened the session lost write access or left', async () => {
    const { organizationId, member, owner } = await makePeople(cloud)
    const { sessionId, upload } = await open(member.token)
    const params = { userId: member.userId }
    const demoted = await call(cloud, owner.token, 'PATCH /members/:userId', { params, body: { role: 'viewer' } })
    expect(demoted.status).toBe(200)
    expect(await put(upload.url, good)).toEqual(notGood)
    expect((await call(cloud, owner.token, 'DELETE /members/:userId', { params })).status).toBe(204)
    expect(await put(upload.url, good)).toEqual(notGood)
    await nothingCame(sessionId)
    await cloud.database.transaction(({ db }) => insertMember(db, organizationId, member.userId, 'member', Date.now()))
    expect((await put(upload.url, good)).status).toBe(200)
  })

  test('409: a URL is valid for one upload; the first one stays', async () => {
    const { sessionId, upload } = await open()
    expect((await put(upload.url, good)).status).toBe(200)
    const again = await put(upload.url, tarball({ name: 'other', content: '' }))
    expect([again.status, again.body.code]).toEqual([409, 'conflict'])
    expect(readFileSync(cloud.projects.uploadFile(sessionId)).equals(good)).toBe(true)
  })

  test('404 after an hour, even if a project keeps the session longer', async () => {
    const [unused, used] = [await open(), await open()]
    expect((await put(used.upload.url, good)).status).toBe(200)
    const body = { name: 'Kept', gitProvider: 'upload', uploadSessionId: used.sessionId }
    expect((await call(cloud, people.member.token, 'POST /projects', { body })).status).toBe(201)
    aheadMs = 3_600_000 + 60_000
    try {
      for (const { upload } of [unused, used]) expect(await put(upload.url, good)).toEqual(notGood)
    } finally {
      aheadMs = 0
    }
    expect((await put(used.upload.url, good)).status).toBe(409)
  })

  test('413 for more than the URL allows; no file is left, and the URL stays valid', async () => {
    const { sessionId, upload } = await open()
    const small = new URL(upload.url)
    small.search = String(signUpload(await rowOf(sessionId), good.length - 1, secretBox))
    const { status, body } = await put(small, good)
    expect([status, body.code, body.field]).toEqual([413, 'payload_too_large', 'upload'])
    await nothingCame(sessionId)
    expect((await put(upload.url, good)).status).toBe(200)
  })

  test('415 for another content type, or none', async () => {
    const { sessionId, upload } = await open()
    for (const headers of [{ 'content-type': 'application/json' }, {}] as Record<string, string>[])
      expect((await put(upload.url, good, headers)).status).toBe(415)
    await nothingCame(sessionId)
  })

  test.each(beforeSql(hostileCorpus().filter(({ title }) => title !== 'a bomb' && title !== 'too many entries')))(
    '400 for a hostile tarball, as at the relay: $title',
    async ({ bytes }) => {
      const { sessionId, upload } = await open()
      const { status, body } = await put(upload.url, bytes)
      expect([status, body.code, body.field]).toEqual([400, 'validation_failed', 'upload'])
      await nothingCame(sessionId)
    },
  )

  test('429: guessing URLs is limited', async () => {
    const limited = await startInstance({ BERTH_MODE: 'cloud' }, { rateLimits: { public: 2 } })
    const guess = {
      method: 'PUT',
      url: '/api/uploads/upl_x?signature=x',
      headers: { 'content-type': 'application/gzip' },
    } as const
    const statuses = []
    for (let attempt = 0; attempt < 3; attempt++) statuses.push((await limited.app.inject(guess)).statusCode)
    expect(statuses).toEqual([404, 404, 429])
    await limited.stop()
  })
})

describe('over a real connection', () => {
  let address: string
  beforeAll(async () => {
    address = await cloud.app.listen({ host: '127.0.0.1', port: 0 })
  })
  const sending = (url: string, headers: Record<string, string | number> = {}) =>
    request(address + pathOf(url), { method: 'PUT', headers: { 'content-type': 'application/gzip', ...headers } })

  test('a body without a length is accepted', async () => {
    const { sessionId, upload } = await open()
    const sent = sending(upload.url)
    const status = new Promise((resolve, reject) => {
      sent.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject)
    })
    sent.write(good.subarray(0, 10))
    sent.end(good.subarray(10))
    expect(await status).toBe(200)
    expect(readFileSync(cloud.projects.uploadFile(sessionId)).equals(good)).toBe(true)
  })

  test('a lost connection leaves no file, and the URL stays valid', async () => {
    const { sessionId, upload } = await open()
    const sent = sending(upload.url, { 'content-length': 1_000_000 })
    sent.on('error', () => undefined)
    sent.write(good)
    const arriving = () => files().filter((name) => name.startsWith(sessionId)).length
    await expect.poll(arriving).toBe(1)
    sent.destroy()
    await expect.poll(arriving).toBe(0)
    expect((await put(upload.url, good)).status).toBe(200)
  })
})

describe('the log of an upload', () => {
  test('the audit log names the session and the user who opened it', async () => {
    const { sessionId, upload } = await open(people.admin.token)
    await put(upload.url, tarball({ name: '../escape', content: '' }))
    await put(upload.url, good)
    const { body } = await call(cloud, people.owner.token, 'GET /audit-log', { query: { limit: 500 } })
    const entries = body.data.filter(({ objectId }: { objectId: string }) => objectId === sessionId)
    expect(entries.map(({ action, userId, objectKind }: Record<string, string>) => ({ action, userId, objectKind }))).toEqual(
      ['PUT /uploads/:sessionId', 'POST /projects/folder/session'].map((action) => ({
        action,
        userId: people.admin.userId,
        objectKind: 'uploadSession',
      })),
    )
    expect(JSON.stringify(entries)).not.toContain(new URL(upload.url).searchParams.get('signature'))
  })

  test('no log line contains a URL or its signature, at any level, after any error', async () => {
    const { sessionId, upload } = await open()
    const signature = new URL(upload.url).searchParams.get('signature') ?? ''
    logged = ''
    const statuses = [
      (await put(upload.url, Buffer.from('not gzip'))).status,
      (await put(upload.url.replace('maxBytes=3', 'maxBytes=4'), good)).status,
      (await cloud.app.inject({ method: 'POST', url: pathOf(upload.url) })).statusCode,
    ]
    // A folder in place of the file: an internal error, with its cause in the log.
    mkdirSync(cloud.projects.uploadFile(sessionId))
    statuses.push((await put(upload.url, good)).status)
    rmdirSync(cloud.projects.uploadFile(sessionId))
    for (const _ of ['stored', 'again']) statuses.push((await put(upload.url, good)).status)
    expect(statuses).toEqual([400, 404, 404, 500, 200, 409])
    expect(logged).toContain('/api/uploads/:sessionId')
    expect(logged).toContain('EISDIR')
    for (const secret of ['signature=', signature, signature.slice(9, 30)]) expect(logged).not.toContain(secret)
  })
})
