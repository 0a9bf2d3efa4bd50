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
})
afterAll(async () => {
  await clouds.close()
  await here.stop()
})

const id = 'prj_aaaaaaaaaaaaaaaaaaaa'
const json = { 'x-request-id': 'req_1', 'content-type': 'application/json' }

/** Writes for as long as somebody reads. */
function endlessly(response: ServerResponse, chunk: string, everyMs: number): void {
  response.write('{"data":"')
  const timer = setInterval(() => response.write(chunk), everyMs)
  response.on('close', () => clearInterval(timer))
}

const answers: Record<string, RequestListener> = {
  hangs: () => {},
  'answers nonsense': ({ socket }) => socket.end('HTTP/9 what\r\n\r\n'),
  'is somebody else': (_request, response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad</h1>'),
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

describe.concurrent('a cloud that is away', () => {
  test.each(Object.keys(answers))(
    'that %s is 503 cloud_unreachable; home answers, local projects are unaffected',
    async (name) => {
      const mine = await makePeople(here)
      const local = await makeProject(here, mine.owner.token)
      await linkBy(here, mine, await clouds.answering(answers[name] as RequestListener))
      const asked = call(here, mine.owner.token, 'GET /projects/:id', { params: { id } })
      const home = call(here, mine.owner.token, 'GET /projects/home')
      expect((await call(here, mine.owner.token, 'GET /projects/:id', { params: { id: local.id } })).status).toBe(200)
      expect(await asked).toMatchObject({ status: 503, body: { code: 'cloud_unreachable' } })
      expect((await home).body).toMatchObject({ cloud: { linked: true, reachable: false }, data: [{ id: local.id }] })
    },
    10_000,
  )

  test('one that is at work is waited for, as long as it says that it is there', async () => {
    const mine = await makePeople(here)
    const url = await clouds.answering((request, response) => {
      if (request.url === '/api/health') return response.writeHead(200, json).end('{"data":{"status":"ok"}}')
      setTimeout(() => response.writeHead(200, json).end('{"data":{"id":"slow"}}'), 4_800)
    })
    await linkBy(here, mine, url)
    const { status, body } = await call(here, mine.owner.token, 'GET /projects/:id', { params: { id } })
    expect({ status, body }).toEqual({ status: 200, body: { data: { id: 'slow' } } })
  }, 15_000)

  test('a write that it has answered is in the audit log, whatever became of the answer', async () => {
    const mine = await makePeople(here)
    await linkBy(here, mine, await clouds.answering((_request, response) => response.writeHead(200, json).end('{')))
    const { status } = await call(here, mine.owner.token, 'POST /projects/:id/enable', { params: { id } })
    expect(status).toBe(503)
    const { body } = await call(here, mine.owner.token, 'GET /audit-log')
    expect(body.data[0]).toMatchObject({ action: 'POST /projects/:id/enable', objectId: id, changes: { askedIn: 'cloud' } })
  })

  test('a stream that breaks ends, with what came before it', async () => {
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

  test('however many streams of it are open, a question finds a connection', async () => {
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
