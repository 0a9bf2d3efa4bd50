import { createHash, randomBytes } from 'node:crypto'
import { networkInterfaces } from 'node:os'
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serve } from '../../../../../tests/kit/http-server.ts'
import { describeNeeding, partOf } from '../../../../../tests/kit/machine.ts'
import { silentLog } from '../../platform/log.ts'
import { Secret } from '../../platform/secrets/secret.ts'
import type { S3Config } from './archive-store.ts'
import { createArchiveStores } from './create-archive-stores.ts'
import { inMemoryContent } from './in-memory.ts'
import { archiveStoreSuite, chunksOf, namesIn, neverAborted, readAll } from './suite.ts'

const stores = createArchiveStores({ log: silentLog, allowPrivate: true, firstPauseMs: 1 })

describeNeeding(['s3'], 'an S3 destination', () => {
  let config: S3Config
  let client: S3Client
  beforeAll(async () => {
    const { origin, username, password } = new URL(partOf('s3'))
    const credentials = { accessKeyId: username, secretAccessKey: password }
    client = new S3Client({ endpoint: origin, region: 'us-east-1', forcePathStyle: true, credentials })
    const bucket = `berth-${randomBytes(6).toString('hex')}`
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
    const secretAccessKey = new Secret(password)
    config = {
      kind: 's3',
      endpoint: origin,
      bucket,
      prefix: '/team//a/',
      accessKeyId: username,
      secretAccessKey,
      allowsLocalAddress: true,
    }
  })
  afterAll(async () => {
    await client.send(new DeleteBucketCommand({ Bucket: config.bucket }))
    client.destroy()
  })

  archiveStoreSuite(async () => ({ store: await stores.open(config), cleanUp: async () => undefined }))

  const failureOf = async (changed: Partial<S3Config>) => {
    const store = await stores.open({ ...config, ...changed })
    return store.check(neverAborted).then(
      () => 'it passed',
      (error: Error & { reason?: string }) => `${error.reason}: ${error.message}`,
    )
  }

  test('content in memory is stored with the given hash', async () => {
    const store = await stores.open(config)
    const bytes = randomBytes(300_000)
    await store.put('known', inMemoryContent(bytes, createHash('sha256').update(bytes).digest('hex')), neverAborted)
    expect((await readAll(store.get('known', neverAborted))).equals(bytes)).toBe(true)
    await store.remove('known', neverAborted)
  })

  test('a failed check reports the reason', async () => {
    expect(await failureOf({ secretAccessKey: new Secret('wrong') })).toContain('denied: S3 rejected the access key')
    expect(await failureOf({ accessKeyId: 'unknown' })).toContain('denied: S3 rejected the access key')
    expect(await failureOf({ bucket: 'berth-no-such-bucket' })).toContain(
      'denied: The bucket berth-no-such-bucket does not exist',
    )
    expect(await failureOf({ endpoint: 'http://127.0.0.1:9' })).toContain('unreachable: S3 cannot be reached (ECONNREFUSED)')
    expect(await failureOf({ endpoint: 'http://no-such-host.invalid' })).toContain('unreachable: No address was found')
    await expect(failureOf({ endpoint: 'file:///etc' })).rejects.toThrow('not a URL')
  })

  test('old multipart uploads of a killed put are aborted', async () => {
    const upload = { Bucket: config.bucket, Key: 'team/a/half' }
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(upload))
    await client.send(new UploadPartCommand({ ...upload, UploadId, PartNumber: 1, Body: Buffer.from('half') }))
    const store = await stores.open(config)
    expect(await store.removeUnfinished(new Date(Date.now() - 3_600_000), neverAborted)).toBe(0)
    expect(await store.removeUnfinished(new Date(Date.now() + 3_600_000), neverAborted)).toBe(1)
    expect(await store.removeUnfinished(new Date(Date.now() + 3_600_000), neverAborted)).toBe(0)
  })

  test('lists only names below its prefix', async () => {
    const inside = await stores.open(config)
    const beside = await stores.open({ ...config, prefix: 'team/ab' })
    await beside.put('other', chunksOf(Buffer.from('x')), neverAborted)
    expect(await namesIn(inside, '')).toEqual([])
    await beside.remove('other', neverAborted)
  })
})

describe('on an instance with untrusted users', () => {
  const guarded = (addresses: Record<string, string[]>) => {
    const requested: string[] = []
    const resolve = async (name: string) => {
      requested.push(name)
      return addresses[name] ?? []
    }
    const settings = { log: silentLog, allowPrivate: false, resolve, attempts: 1 }
    return { asked: requested, stores: createArchiveStores(settings) }
  }
  const s3 = (endpoint: string): S3Config => ({
    kind: 's3',
    endpoint,
    bucket: 'bucket',
    accessKeyId: 'key',
    secretAccessKey: new Secret('secret'),
    allowsLocalAddress: true,
  })

  test.each(['http://127.0.0.1:1', 'http://[::1]:1', 'http://10.0.0.8', 'http://169.254.169.254', 'http://[::ffff:10.0.0.1]'])(
    'the endpoint %s is refused before anything is sent',
    async (endpoint) => {
      await expect(guarded({}).stores.open(s3(endpoint))).rejects.toMatchObject({ name: 'StoreFailure', reason: 'denied' })
    },
  )

  // The loopback and the first network card. Bridges of containers, which follow, come and go with other tests.
  const own = Object.values(networkInterfaces())
    .slice(0, 2)
    .flatMap((all) => (all ?? []).map(({ address, family }) => (family === 'IPv6' ? `[${address.replace(/%.*/, '')}]` : address)))
  test.each(['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', ...own])(
    'loopback (%s) is refused if no operator named the destination, and private networks are allowed',
    async (host) => {
      await using endpoint = await serve((_request, response) => response.end())
      const here = createArchiveStores({ log: silentLog, allowPrivate: true, attempts: 1, resolve: async () => ['127.0.0.1'] })
      const { port } = new URL(endpoint.url)
      let connections = 0
      endpoint.server.on('connection', () => (connections += 1))
      const refused = { name: 'StoreFailure', reason: 'denied', message: expect.stringContaining('only an operator') }
      await expect(here.open({ ...s3(`http://${host}:${port}`), allowsLocalAddress: false })).rejects.toMatchObject(refused)
      for (const name of ['localhost', 'inside.example']) {
        const store = await here.open({ ...s3(`http://${name}:${port}`), allowsLocalAddress: false })
        await expect(store.check(neverAborted)).rejects.toMatchObject(refused)
        await store.close()
      }
      await (await here.open({ ...s3('http://10.255.255.254:9'), allowsLocalAddress: false })).close()
      expect(connections).toBe(0)
    },
  )

  test('a name that resolves to an internal address is refused, and is resolved only once', async () => {
    const { stores: some, asked: requested } = guarded({ 's3.example': ['10.1.2.3'] })
    for (const endpoint of ['http://s3.example', 'http://localhost:9000']) {
      const store = await some.open(s3(endpoint))
      await expect(store.check(neverAborted)).rejects.toMatchObject({ name: 'StoreFailure', reason: 'denied' })
      await store.close()
    }
    expect(requested).toEqual(['s3.example'])
  })
})
