import type { RequestListener, ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { readEvents } from '../kit/event-reader.ts'
import { FakeClouds, linkBy } from '../kit/fake-cloud.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

let here: TestInstance
let hereUrl: string
const clouds = new FakeClouds()
beforeAll(async () => {
  here = await startInstance()
  hereUrl = await here.app.listen({ host: '127.0.0.1', port: 0 })
  record = await makeProject(here, (await makePeople(here)).owner.token)
})
afterAll(async () => {
  await clouds.close()
  await here.stop()
})

const id = 'prj_aaaaaaaaaaaaaaaaaaaa'
const json = { 'x-request-id': 'req_1', 'content-type': 'application/json' }

/** Writes until the reader disconnects. */
function endlessly(response: ServerResponse, chunk: string, everyMs: number): void {
  response.write('{"data":"')
  const timer = setInterval(() => response.write(chunk), everyMs)
  response.on('close', () => clearInterval(timer))
}

const answers: Record<string, RequestListener> = {
  hangs: () => {},
  'answers nonsense': ({ socket }) => socket.end('HTTP/9 what\r\n\r\n'),
  'is another service': (_request, response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad</h1>'),
  'hangs up': ({ socket }) => socket.destroy(),
  'answers with a page': (_request, response) =>
    response.writeHead(200, { ...json, 'content-type': 'text/html' }).end('<script>alert(1)</script>'),
  'answers with a script': (_request, response) =>
    response.writeHead(200, { ...json, 'content-type': 'text/javascript' }).end('alert(1)'),
  'answers with something that is not JSON': (_request, response) => response.writeHead(200, json).end('{"data":'),
  'answers with bytes that are no text': (_request, response) =>
    response.writeHead(200, json).end(Buffer.from([34, 0xff, 0xfe, 34])),
  'answers compressed': (_request, response) => response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end('{}'),
  'leads somewhere else': (_request, response) =>
    response.writeHead(302, { ...json, location: 'https://evil.example' }).end('{}'),
  'answers with no status': ({ socket }) => socket.end('HTTP/1.1 999 what\r\nx-request-id: a\r\ncontent-length: 2\r\n\r\n{}'),
  'does not know the token any more': (_request, response) => response.writeHead(401, json).end('{"code":"unauthorized"}'),
  'ends in the middle of its answer': (_request, response) => {
    response.writeHead(200, { ...json, 'content-length': '100' }).write('{"data":')
    setTimeout(() => response.destroy(), 50)
  },
  'stops in the middle of its answer': (_request, response) => void response.writeHead(200, json).write('{"data":'),
  'answers drop by drop without end': (_request, response) => {
    response.writeHead(200, json)
    endlessly(response, 'x', 100)
  },
}

/** Complete project records, 8 KB each. */
function recordsOf(page: number, count: number): string {
  const filler = 'x'.repeat(8_000)
  return Array.from({ length: count }, (_, number) =>
    JSON.stringify({ ...record, id: `prj_${page}_${number}`, name: filler }),
  ).join(',')
}
let record: object

describe.concurrent('an unreachable cloud', () => {
  test.each(Object.keys(answers))(
    'that %s is 503 cloud_unreachable; home answers, local projects are unaffected',
    async (name) => {
      const mine = await makePeople(here)
      const local = await makeProject(here, mine.owner.token)
      await linkBy(here, mine, await clouds.answering(answers[name] as RequestListener))
      const requested = call(here, mine.owner.token, 'GET /projects/:id', { params: { id } })
      const home = call(here, mine.owner.token, 'GET /projects/home')
      expect((await call(here, mine.owner.token, 'GET /projects/:id', { params: { id: local.id } })).status).toBe(200)
      expect(await requested).toMatchObject({ status: 503, body: { code: 'cloud_unreachable' } })
      expect((await home).body).toMatchObject({ cloud: { linked: true, reachable: false }, data: [{ id: local.id }] })
    },
    10_000,
  )

  const writes: [string, (local: string) => [`${string} /${string}`, object]][] = [
    ['a change', () => ['PATCH /projects/:id', { params: { id }, body: { name: 'Late' } }]],
    ['a deletion', () => ['DELETE /projects/:id', { params: { id } }]],
    ['a deployment', () => ['POST /deployments/build/access', { body: { projectId: id } }]],
    ['a move to it', (local) => ['POST /projects/:id/transfer/to-cloud', { params: { id: local }, body: {} }]],
    ['a move from it', () => ['POST /projects/:id/transfer/to-self-hosted', { params: { id }, body: {} }]],
  ]
  describe.each(['hangs', 'stops in the middle of its answer', 'answers drop by drop without end'])('that %s', (name) => {
    test.each(writes)('%s is 503, and nothing is started', async (_, write) => {
      const mine = await makePeople(here)
      const local = await makeProject(here, mine.owner.token)
      await linkBy(here, mine, await clouds.answering(answers[name] as RequestListener))
      const [at, input] = write(local.id)
      expect(await call(here, mine.owner.token, at as 'GET /', input)).toMatchObject({
        status: 503,
        body: { code: 'cloud_unreachable' },
      })
      const moves = await here.database.db.selectFrom('cloudTransfers').select('id').where('projectId', '=', local.id).execute()
      expect(moves).toEqual([])
    })
    test('the link shows that it is unreachable', async () => {
      const mine = await makePeople(here)
      await linkBy(here, mine, await clouds.answering(answers[name] as RequestListener))
      expect((await call(here, mine.owner.token, 'GET /cloud/link')).body.data).toMatchObject({ linked: true, reachable: false })
    })
  })

  const endlessLists: [string, (page: number) => string, (page: number) => string | null][] = [
    ['one page without end', () => `{"name":"${'x'.repeat(1000)}"},`.repeat(50_000), () => null],
    ['pages without end', (page) => recordsOf(page, 100), (page) => `page ${page}`],
    ['pages without an entry, without end', () => '', (page) => `page ${page}`],
  ]
  test.each(endlessLists)(
    'that lists %s: home lists the local projects, and the cloud as unreachable',
    async (_, entries, cursor) => {
      const mine = await makePeople(here)
      const local = await makeProject(here, mine.owner.token)
      let pages = 0
      let sent = 0
      const url = await clouds.answering(async (_request, response) => {
        pages += 1
        response.writeHead(200, json).write('{"data":[')
        const text = entries(pages)
        for (let at = 0; at < text.length && !response.destroyed; at += 65_536) {
          sent += 65_536
          await new Promise((done) => response.write(text.slice(at, at + 65_536), done))
        }
        response.end(`],"nextCursor":${JSON.stringify(cursor(pages))}}`)
      })
      await linkBy(here, mine, url)
      const { status, body } = await call(here, mine.owner.token, 'GET /projects/home')
      expect([status, body.cloud]).toEqual([200, { linked: true, reachable: false }])
      expect(body.data.map((one: { id: string }) => one.id)).toContain(local.id)
      expect(pages).toBeLessThanOrEqual(40)
      // Includes the bytes that were in socket buffers when the reader left.
      expect(sent).toBeLessThan(32 * 1024 * 1024)
    },
  )

  test('large records are listed too, fewer per page', async () => {
    const mine = await makePeople(here)
    const all = JSON.parse(`[${recordsOf(1, 150)}]`) as object[]
    const url = await clouds.answering((request, response) => {
      const query = new URL(request.url ?? '', 'http://cloud').searchParams
      const from = Number(query.get('cursor') ?? 0)
      const until = from + Number(query.get('limit'))
      const nextCursor = until < all.length ? String(until) : null
      response.writeHead(200, json).end(JSON.stringify({ data: all.slice(from, until), nextCursor }))
    })
    await linkBy(here, mine, url)
    // On a busy machine the time limit for all pages may be exceeded once.
    const listed = async () => (await call(here, mine.owner.token, 'GET /projects/home')).body
    await expect.poll(async () => (await listed()).data.length).toBe(150)
  })

  test('a request waits for a slow cloud as long as its health check answers', async () => {
    const mine = await makePeople(here)
    const url = await clouds.answering((request, response) => {
      if (request.url === '/api/health') return response.writeHead(200, json).end('{"data":{"status":"ok"}}')
      setTimeout(() => response.writeHead(200, json).end('{"data":{"id":"slow"}}'), 4_800)
    })
    await linkBy(here, mine, url)
    const { status, body } = await call(here, mine.owner.token, 'GET /projects/:id', { params: { id } })
    expect({ status, body }).toEqual({ status: 200, body: { data: { id: 'slow' } } })
  }, 15_000)

  test('a write that the cloud has answered is in the audit log, even if the response is lost', async () => {
    const mine = await makePeople(here)
    await linkBy(here, mine, await clouds.answering((_request, response) => response.writeHead(200, json).end('{')))
    const { status } = await call(here, mine.owner.token, 'POST /projects/:id/enable', { params: { id } })
    expect(status).toBe(503)
    const { body } = await call(here, mine.owner.token, 'GET /audit-log')
    expect(body.data[0]).toMatchObject({ action: 'POST /projects/:id/enable', objectId: id, changes: { askedIn: 'cloud' } })
  })

  test('a broken stream ends after the events that were received', async () => {
    const mine = await makePeople(here)
    const url = await clouds.answering((_request, response) => {
      response
        .writeHead(200, { ...json, 'content-type': 'text/event-stream' })
        .write('id: 1\nevent: log\ndata: {"n":1}\n\nnonsense')
      setTimeout(() => response.destroy(), 50)
    })
    await linkBy(here, mine, url)
    const reader = await readEvents(`${hereUrl}/api/projects/${id}/logs/stream`, { authorization: `Bearer ${mine.owner.token}` })
    await reader.ended
    expect({ status: reader.status, events: reader.events }).toEqual({
      status: 200,
      events: [{ id: '1', event: 'log', data: { n: 1 } }],
    })
  })

  test('a request finds a connection, however many streams are open', async () => {
    const mine = await makePeople(here)
    const url = await clouds.answering((request, response) => {
      if (!request.url?.includes('stream')) return response.writeHead(200, json).end('{"data":[]}')
      response.writeHead(200, { ...json, 'content-type': 'text/event-stream' }).write(': open\n\n')
    })
    await linkBy(here, mine, url)
    const open = () => readEvents(`${hereUrl}/api/projects/${id}/logs/stream`, { authorization: `Bearer ${mine.owner.token}` })
    const readers = await Promise.all(Array.from({ length: 150 }, open))
    expect(new Set(readers.map(({ status }) => status))).toEqual(new Set([200]))
    expect((await call(here, mine.owner.token, 'GET /projects/:id/env', { params: { id } })).status).toBe(200)
    for (const reader of readers) reader.close()
  })
})
