// gate: also on PostgreSQL, since ten requests fetch one upload
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { CreateBucketCommand, DeleteBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeNeeding, partOf } from '../../../../tests/kit/machine.ts'
import { tarball } from '../../src/drivers/tarball/hostile-corpus.ts'
import { s3UploadStore } from '../../src/drivers/upload-store/s3-upload-store.ts'
import type { UploadStore } from '../../src/drivers/upload-store/upload-store.ts'
import { sweepUploads } from '../../src/modules/projects/uploads/upload-sweep.ts'
import { silentLog } from '../../src/platform/log.ts'
import { Secret } from '../../src/platform/secrets/secret.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'

const good = tarball(
  { name: 'package.json', content: JSON.stringify({ name: 'shop', dependencies: { express: '5' } }) },
  { name: 'index.js', content: 'app.listen(3000)' },
)
const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

describeNeeding(['s3'], 'a cloud whose uploads go to an object store', () => {
  let client: S3Client
  let settings: Record<string, string>
  let cloud: TestInstance
  let people: People
  let store: UploadStore
  /** How far the instance's clock is ahead of the real one. */
  let aheadMs = 0
  const clock = { now: () => new Date(Date.now() + aheadMs) }
  const neverAborted = new AbortController().signal

  beforeAll(async () => {
    const { origin, username, password } = new URL(partOf('s3'))
    const credentials = { accessKeyId: username, secretAccessKey: password }
    client = new S3Client({ endpoint: origin, region: 'us-east-1', forcePathStyle: true, credentials })
    const bucket = `berth-${randomBytes(6).toString('hex')}`
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
    settings = {
      BERTH_MODE: 'cloud',
      BERTH_UPLOADS_ENDPOINT: origin,
      BERTH_UPLOADS_BUCKET: bucket,
      BERTH_UPLOADS_ACCESS_KEY_ID: username,
      BERTH_UPLOADS_SECRET_ACCESS_KEY: password,
    }
    const location = { endpoint: origin, bucket, prefix: 'berth-uploads', accessKeyId: username }
    store = s3UploadStore({ kind: 's3', allowsLocalAddress: true, ...location, secretAccessKey: new Secret(password) }, silentLog)
    cloud = await startInstance(settings, { clock })
    people = await makePeople(cloud)
  })
  afterAll(async () => {
    for await (const { name } of store.list('', neverAborted)) await store.remove(name, neverAborted)
    await store.close()
    await cloud.stop()
    await client.send(new DeleteBucketCommand({ Bucket: settings.BERTH_UPLOADS_BUCKET }))
    client.destroy()
  })

  interface Session {
    sessionId: string
    upload: { url: string; method: string; headers: Record<string, string> }
  }
  const open = async (bytes = good, more: object = {}): Promise<Session> => {
    const body = { sizeBytes: bytes.length, ...more }
    const opened = await call(cloud, people.member.token, 'POST /projects/folder/session', { body })
    expect(opened.status).toBe(201)
    return opened.body.data
  }
  /** Sends the upload exactly as the session describes it. */
  const put = async ({ upload: { url, method, headers } }: Session, bytes: Buffer, other: Record<string, string> = {}) => {
    const { 'content-length': _, ...rest } = headers
    return (await fetch(url, { method, headers: { ...rest, ...other }, body: new Uint8Array(bytes) })).status
  }
  const scan = ({ sessionId }: Pick<Session, 'sessionId'>, token = people.member.token, { instance = cloud } = {}) =>
    call(instance, token, 'POST /projects/folder/scan/:sessionId', { params: { sessionId } })
  const isStored = async ({ sessionId }: Session) => (await store.size(`${sessionId}.tar.gz`, neverAborted)) !== undefined
  const fileOf = ({ sessionId }: Session) => cloud.projects.uploadFile(sessionId)

  test('201: a URL of the store, valid for an hour, signed for the size and the content type', async () => {
    const { upload, sessionId } = await open()
    const { origin, pathname, searchParams } = new URL(upload.url)
    expect([upload.method, upload.headers]).toEqual([
      'PUT',
      { 'content-type': 'application/gzip', 'content-length': String(good.length) },
    ])
    expect(origin).toBe(settings.BERTH_UPLOADS_ENDPOINT)
    expect(pathname).toBe(`/${settings.BERTH_UPLOADS_BUCKET}/berth-uploads/${sessionId}.tar.gz`)
    expect(searchParams.get('X-Amz-Expires')).toBe('3600')
    expect(searchParams.get('X-Amz-SignedHeaders')).toBe('content-length;content-type;host')
  })

  test('session, PUT to the store without a credential, scan, ensure: a project of the upload, and the store is empty again', async () => {
    const session = await open(good, { sha256: hashOf(good) })
    expect(await put(session, good)).toBe(200)
    const scanned = await scan(session)
    expect([scanned.status, scanned.body.data.name, scanned.body.data.framework]).toEqual([200, 'shop', 'express'])
    expect(readFileSync(fileOf(session)).equals(good)).toBe(true)
    expect(await isStored(session)).toBe(false)
    const body = { name: 'Shop', gitProvider: 'upload', uploadSessionId: session.sessionId }
    expect((await call(cloud, people.member.token, 'POST /projects/ensure', { body })).status).toBe(201)
  })

  test('the upload is also fetched when a project is created, changed or deployed with it', async () => {
    const [first, second, third] = [await open(), await open(), await open()]
    for (const session of [first, second, third]) expect(await put(session, good)).toBe(200)
    const { token } = people.member
    const body = { name: 'Named', gitProvider: 'upload', uploadSessionId: first.sessionId }
    const { body: made, status } = await call(cloud, token, 'POST /projects', { body })
    expect(status).toBe(201)
    const params = { id: made.data.id as string }
    const changed = { params, body: { uploadSessionId: second.sessionId } }
    expect((await call(cloud, token, 'PATCH /projects/:id', changed)).status).toBe(200)
    const build = { body: { projectId: params.id, uploadSessionId: third.sessionId } }
    expect((await call(cloud, token, 'POST /deployments/build/access', build)).status).toBe(202)
    for (const session of [first, second, third]) expect(readFileSync(fileOf(session)).equals(good)).toBe(true)
  })

  test('the store refuses another size, another type, another name and an altered URL', async () => {
    const [session, other] = [await open(), await open()]
    const altered = (change: (url: URL) => void): Session => {
      const url = new URL(session.upload.url)
      change(url)
      return { ...session, upload: { ...session.upload, url: url.href } }
    }
    const statuses = [
      await put(session, Buffer.concat([good, Buffer.from('x')])),
      await put(session, good.subarray(1)),
      await put(session, good, { 'content-type': 'text/html' }),
      await put(
        altered((url) => {
          url.pathname = new URL(other.upload.url).pathname
        }),
        good,
      ),
      await put(
        altered(({ searchParams }) => searchParams.set('X-Amz-Expires', '360000')),
        good,
      ),
    ]
    expect(statuses).toEqual([403, 403, 403, 403, 403])
    expect([await isStored(session), await isStored(other)]).toEqual([false, false])
    const nothing = await scan(session)
    expect([nothing.status, nothing.body.code]).toEqual([409, 'conflict'])
    expect(await put(session, good)).toBe(200)
  })

  test('400 for a hostile tarball and for other bytes than announced; the upload is removed, and the URL accepts another one', async () => {
    const hostile = tarball({ name: '../escape', content: 'x' })
    const [bad, changed] = [await open(hostile), await open(good, { sha256: hashOf(hostile) })]
    expect([await put(bad, hostile), await put(changed, good)]).toEqual([200, 200])
    for (const session of [bad, changed]) {
      const { status, body } = await scan(session)
      expect([status, body.code, body.field]).toEqual([400, 'validation_failed', 'upload'])
      expect(await isStored(session)).toBe(false)
      expect(existsSync(fileOf(session))).toBe(false)
      expect((await scan(session)).status).toBe(409)
    }
  })

  test('a later upload to the same URL has no effect, and ten concurrent readers get the first one', async () => {
    const session = await open()
    expect(await put(session, good)).toBe(200)
    const answers = await Promise.all(Array.from({ length: 10 }, () => scan(session)))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    const other = Buffer.alloc(good.length, 1)
    expect(await put(session, other)).toBe(200)
    expect((await scan(session)).body.data.name).toBe('shop')
    expect(readFileSync(fileOf(session)).equals(good)).toBe(true)
  })

  test('404 for another organisation, without fetching the upload', async () => {
    const session = await open()
    expect(await put(session, good)).toBe(200)
    const outsider = await makePeople(cloud)
    expect((await scan(session, outsider.owner.token)).status).toBe(404)
    const body = { name: 'Theirs', gitProvider: 'upload', uploadSessionId: session.sessionId }
    expect((await call(cloud, outsider.owner.token, 'POST /projects', { body })).status).toBe(404)
    expect(await isStored(session)).toBe(true)
    expect(existsSync(fileOf(session))).toBe(false)
  })

  test('without a size the URL is one of the service itself, which limits the upload; a size over the limit is 413 at once', async () => {
    const { token } = people.member
    const opened = await call(cloud, token, 'POST /projects/folder/session', { body: { name: 'Shop' } })
    expect(new URL(opened.body.data.upload.url).pathname).toBe(`/api/uploads/${opened.body.data.sessionId}`)
    const large = await call(cloud, token, 'POST /projects/folder/session', { body: { sizeBytes: 300_000_001 } })
    expect([large.status, large.body.code, large.body.field]).toEqual([413, 'payload_too_large', 'sizeBytes'])
  })

  test('503 while the store is unreachable; the upload is fetched afterwards', async () => {
    const session = await open()
    expect(await put(session, good)).toBe(200)
    const away = cloud.another({
      uploadStore: s3UploadStore(
        {
          ...{ kind: 's3', allowsLocalAddress: true, endpoint: 'http://127.0.0.1:9', bucket: 'away', accessKeyId: 'a' },
          secretAccessKey: new Secret('b'),
        },
        silentLog,
      ),
    })
    try {
      const { status, body } = await scan(session, people.member.token, { instance: { ...cloud, ...away } })
      expect([status, body.code]).toEqual([503, 'unavailable'])
    } finally {
      await away.stopAnswering()
    }
    expect((await scan(session)).status).toBe(200)
  })

  test('the hourly sweep removes expired and fetched uploads and those without a session; awaited ones stay', async () => {
    const [old, fetched] = [await open(), await open()]
    for (const session of [old, fetched]) expect(await put(session, good)).toBe(200)
    expect((await scan(fetched)).status).toBe(200)
    expect(await put(fetched, good)).toBe(200)
    const orphaned = await store.addressFor('upl_orphan.tar.gz', { sizeBytes: 1, contentType: 'text/plain', seconds: 60 })
    expect(await put({ sessionId: 'upl_orphan', upload: orphaned }, Buffer.from('x'))).toBe(200)
    aheadMs = 3_600_000 + 60_000
    try {
      const awaited = await open()
      const { 'content-length': _, ...headers } = awaited.upload.headers
      expect((await fetch(awaited.upload.url, { method: 'PUT', headers, body: new Uint8Array(good) })).status).toBe(200)
      const deps = {
        database: cloud.database,
        clock,
        settings: { dataDir: fileOf(old).split('/uploads/')[0] },
        uploadStore: store,
        projectPorts: {},
      }
      await sweepUploads(deps as unknown as Parameters<typeof sweepUploads>[0])
      const left = []
      for await (const { name } of store.list('', neverAborted)) left.push(name)
      expect(left).toEqual([`${awaited.sessionId}.tar.gz`])
    } finally {
      aheadMs = 0
    }
  })
})
