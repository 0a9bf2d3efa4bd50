import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRunCommand } from '../../src/drivers/shell/run-command.ts'
import { storedTarball } from '../kit/stored-tarball.ts'

interface Server {
  pid: number
  url: string
  token: string
}

let folder: string
let server: Server
const stdin = new PassThrough()
let ended: Promise<unknown>
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-upload-'))
  const ready = Promise.withResolvers<Server>()
  const { BERTH_TEST_DATABASE = '', BERTH_TEST_POSTGRES_URL = '' } = process.env
  ended = createRunCommand(process.env)(
    {
      program: process.execPath,
      args: [join(import.meta.dirname, 'fixtures/upload-server.ts'), join(folder, 'data')],
      env: { BERTH_TEST_DATABASE, BERTH_TEST_POSTGRES_URL },
    },
    {
      timeoutMs: 120_000,
      maxOutputBytes: 10_000,
      input: stdin,
      onStdout: (line) => ready.resolve(JSON.parse(Buffer.from(line).toString())),
    },
  )
  ended.catch(ready.reject)
  server = await ready.promise
})
afterAll(async () => {
  stdin.end()
  await ended
  rmSync(folder, { recursive: true, force: true })
})

async function post(path: string, body: AsyncIterable<Buffer> | null, type: string): Promise<{ status: number; body: string }> {
  const sent = request(`${server.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}`, 'content-type': type },
  })
  const answered = new Promise<{ status: number; body: string }>((resolve, reject) => {
    sent.on('error', reject)
    sent.on('response', (response) => {
      response.setEncoding('utf8')
      response.toArray().then((parts) => resolve({ status: response.statusCode ?? 0, body: parts.join('') }), reject)
    })
  })
  // A response that arrives before everything was sent ends the sending.
  pipeline(body ? Readable.from(body, { objectMode: false }) : Readable.from(['{}']), sent).catch(() => undefined)
  return answered
}

async function upload(bytes: number) {
  const opened = await post('/api/projects/folder/session', null, 'application/json')
  const { sessionId } = JSON.parse(opened.body).data
  return { sessionId, ...(await post(`/api/projects/folder/upload/${sessionId}`, storedTarball(bytes), 'application/gzip')) }
}

const kilobytes = (field: string) =>
  Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1])
const left = () => readdirSync(join(folder, 'data/uploads'))

test('uploading 299 MB uses no more than 40 MB of extra memory; 301 MB is 413 and leaves nothing behind', async () => {
  const warm = await upload(1_000_000)
  expect(warm.status).toBe(200)
  const before = kilobytes('VmRSS')
  // The kernel resets its peak here.
  writeFileSync(`/proc/${server.pid}/clear_refs`, '5')
  const large = await upload(298_900_000)
  const peak = kilobytes('VmHWM')
  expect(large.status).toBe(200)
  expect(JSON.parse(large.body).data).toMatchObject({ sizeBytes: expect.any(Number), files: 1 })
  expect(JSON.parse(large.body).data.sizeBytes).toBeGreaterThan(298_900_000)
  expect(peak - before).toBeLessThan(40_000)

  const kept = [`${warm.sessionId}.tar.gz`, `${large.sessionId}.tar.gz`].sort()
  const tooLarge = await upload(301_000_000)
  expect([tooLarge.status, JSON.parse(tooLarge.body).code]).toEqual([413, 'payload_too_large'])
  expect(left().sort()).toEqual(kept)
})
