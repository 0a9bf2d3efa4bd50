import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type HttpServer, serve } from '../../../../../tests/kit/http-server.ts'
import { silentLog } from '../../platform/log.ts'
import { Secret } from '../../platform/secrets/secret.ts'
import { type HostileSftp, startHostileSftp } from '../shell/test-hostile-sftp.ts'
import type { ArchiveStore, SftpConfig } from './archive-store.ts'
import { createArchiveStores } from './create-archive-stores.ts'
import { listingBounds } from './listing-bounds.ts'
import { namesIn, neverAborted } from './suite.ts'

/** Every destination that answers over a network, with every way to list without end: one row each. */

const listing = { ...listingBounds, calls: 50 }
const stores = createArchiveStores({ log: silentLog, allowPrivate: true, firstPauseMs: 1, listing })
const mb = 1024 * 1024

const entry = (key: string) =>
  `<Contents><Key>${key}</Key><LastModified>2020-01-01T00:00:00.000Z</LastModified><ETag>&quot;e&quot;</ETag><Size>1</Size></Contents>`
const page = (entries: string, more = '<IsTruncated>false</IsTruncated>') =>
  `<?xml version="1.0"?><ListBucketResult>${more}${entries}</ListBucketResult>`

describe('an S3 endpoint', () => {
  let answer: (request: IncomingMessage, response: ServerResponse) => void
  let endpoint: HttpServer
  const seen: string[] = []
  let sent = 0
  beforeAll(async () => {
    endpoint = await serve((request, response) => {
      seen.push(`${request.method} ${request.url}`)
      request.resume()
      answer(request, response)
    })
  })
  afterAll(() => endpoint.close())

  const open = (): Promise<ArchiveStore> => {
    seen.length = 0
    sent = 0
    const secretAccessKey = new Secret('secret')
    return stores.open({
      kind: 's3',
      endpoint: endpoint.url,
      bucket: 'bucket',
      prefix: 'team',
      accessKeyId: 'key',
      secretAccessKey,
      allowsLocalAddress: true,
    })
  }

  /** Writes as long as the client reads, and reports the number of bytes. */
  const pour = (response: ServerResponse, piece: string, head = '') => {
    response.write(head)
    const more = () => {
      while (!response.destroyed) {
        sent += piece.length
        if (!response.write(piece)) return void response.once('drain', more)
      }
    }
    more()
  }

  test.each<[string, (response: ServerResponse, request: IncomingMessage) => void, RegExp]>([
    [
      'a page without end',
      (response) => pour(response, entry('team/a/b').repeat(100), '<ListBucketResult>'),
      /more than 1 MB in a page/,
    ],
    [
      'one name without end',
      (response) => pour(response, 'x'.repeat(10_000), '<ListBucketResult><Contents><Key>'),
      /invalid listing/,
    ],
    ['no names, without end', (response) => pour(response, ' '.repeat(10_000), '<ListBucketResult>'), /invalid listing/],
    ['an error without end', (response) => pour(response.writeHead(403), '<Error>'.repeat(1000)), /more than 32 KB/],
    [
      'the same page for ever',
      (response) =>
        void response.end(
          page(entry('team/a/b'), '<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>'),
        ),
      /same page twice/,
    ],
    [
      'pages without end',
      (response) => {
        sent += 1
        const more = `<IsTruncated>true</IsTruncated><NextContinuationToken>t${sent}</NextContinuationToken>`
        response.end(page('', more))
      },
      /more than 50 pages/,
    ],
  ])('that lists %s is an error, and reading stops', async (_, answering, message) => {
    answer = (request, response) => answering(response, request)
    const store = await open()
    await expect(namesIn(store, 'a/')).rejects.toThrow(message)
    // Bytes that were in socket buffers when the reader disconnected are not counted.
    expect(sent).toBeLessThan(32 * mb)
    await store.close()
  })

  test.each(['put', 'remove', 'check'] as const)('that answers %s without end is an error', async (call) => {
    answer = (_request, response) => pour(response, 'x'.repeat(10_000))
    const store = await open()
    const content = async function* () {
      yield Buffer.from('content')
    }
    const calls = {
      put: () => store.put('a/b', content(), neverAborted),
      remove: () => store.remove('a/b', neverAborted),
      check: () => store.check(neverAborted),
    }
    await expect(calls[call]()).rejects.toThrow(/more than|invalid listing/)
    expect(sent).toBeLessThan(32 * mb)
    await store.close()
  })

  test('names outside the requested prefix are ignored and never removed', async () => {
    const names = ['zz/zz', 'team/zz/zz', 'team/berth-check/../zz', 'tea', 'team/berth-check/left']
    answer = (request, response) => response.end(request.url?.includes('list-type') ? page(names.map(entry).join('')) : '')
    const store = await open()
    expect(await namesIn(store, 'berth-check/')).toEqual(['berth-check/left'])
    await store.check(neverAborted).catch(() => undefined)
    const removed = seen.filter((line) => line.startsWith('DELETE')).map((line) => line.replace(/\?.*/, ''))
    expect(removed).toContain('DELETE /bucket/team/berth-check/left')
    expect(removed.filter((line) => !line.startsWith('DELETE /bucket/team/berth-check/'))).toEqual([])
    await store.close()
  })

  test('entries are parsed wherever the response is split, with all XML escapes', async () => {
    const names = Array.from({ length: 300 }, (_, number) => `a/part-${number}`)
    const body = Buffer.from(
      page([...names.map((name) => entry(`team/${name}`)), entry('team/a/&lt;&#x2f;é'), entry('x')].join('')),
    )
    answer = async (_request, response) => {
      for (let at = 0; at < body.length; at += 997)
        await new Promise((done) => response.write(body.subarray(at, at + 997), () => setImmediate(done)))
      response.end()
    }
    const store = await open()
    expect(await namesIn(store, 'a/')).toEqual(names.sort())
    await store.close()
  })
})

describe('an SFTP server', () => {
  let server: HostileSftp
  let store: ArchiveStore
  beforeAll(async () => {
    server = await startHostileSftp()
    const password = new Secret('password')
    const config: SftpConfig = {
      kind: 'sftp',
      host: '127.0.0.1',
      port: server.port,
      user: 'user',
      path: '/srv',
      password,
      allowsLocalAddress: true,
    }
    const hostKey = await stores.hostKeyOf(config, neverAborted)
    store = await stores.open({ ...config, hostKey })
  })
  afterAll(async () => {
    await store.close()
    await server.close()
  })

  test.each<[string, HostileSftp['answer'], RegExp]>([
    ['files in a folder', () => ['file-1', 'file-2'], /more than 50 pages/],
    ['nothing in a folder', () => [], /more than 50 pages/],
    ['folders in folders', () => ['folder/'], /more than 8 nested folders/],
  ])('that lists %s without end is an error', async (_, answering, message) => {
    server.answer = answering
    server.calls.length = 0
    await expect(namesIn(store, 'a/')).rejects.toThrow(message)
    expect(server.calls.filter((call) => call.startsWith('readdir')).length).toBeLessThanOrEqual(listing.calls + 1)
  })

  test('invalid names are skipped and never removed', async () => {
    const foreign = ['../../etc/passwd', '.ssh/', 'a/../../b', '..\\x', 'x'.repeat(300)]
    server.answer = (path, call) => (call > 0 ? null : path.endsWith('berth-check') ? [...foreign, 'left'] : foreign)
    expect(await namesIn(store, 'berth-check/')).toEqual(['berth-check/left'])
    server.calls.length = 0
    expect(await store.removeUnfinished(new Date(), neverAborted)).toBe(0)
    expect(server.calls.filter((call) => call.startsWith('remove'))).toEqual([])
  })
})
