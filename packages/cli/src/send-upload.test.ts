import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ApiError, createClient } from '@berth/contract/client'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sendUpload } from './send-upload.ts'

interface Seen {
  method: string | undefined
  url: string | undefined
  headers: IncomingHttpHeaders
  bytes: Buffer
}
let seen: Seen[]
let answer: { status: number; body: object }
let base: string
const server = createServer(async (request, response) => {
  const bytes = Buffer.concat(await request.toArray())
  seen.push({ method: request.method, url: request.url, headers: request.headers, bytes })
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body))
})
beforeEach(async () => {
  seen = []
  answer = { status: 200, body: { data: { sessionId: 'upl_1', sizeBytes: 3, files: 1 } } }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))

const client = () => createClient({ baseUrl: base, token: 'brt_secret' })
const bytes = () => new Blob(['abc']).stream()
const headers = { 'content-type': 'application/gzip', 'x-storage': 'yes' }
const storage = () => ({ url: `${base}/api/uploads/upl_1?expires=1&signature=s`, method: 'PUT', headers })

test('the upload relay of a self-hosted instance is called at the address of the client, with the token', async () => {
  const url = 'https://public.example.test/api/projects/folder/upload/upl_1'
  await sendUpload(client(), { sessionId: 'upl_1', upload: { url, method: 'POST', headers } }, bytes())
  expect(seen).toMatchObject([{ method: 'POST', url: '/api/projects/folder/upload/upl_1', bytes: Buffer.from('abc') }])
  expect(seen[0]?.headers).toMatchObject({ authorization: 'Bearer brt_secret', 'content-type': 'application/gzip' })
})

test('any other address gets the method and headers of the session, and never the token', async () => {
  await sendUpload(client(), { sessionId: 'upl_1', upload: storage() }, bytes())
  expect(seen).toMatchObject([
    { method: 'PUT', url: '/api/uploads/upl_1?expires=1&signature=s', headers, bytes: Buffer.from('abc') },
  ])
  expect(JSON.stringify(seen[0]?.headers)).not.toContain('brt_secret')
})

test('an error of the storage is reported like an error of the API', async () => {
  answer = { status: 409, body: { error: 'This session already has its upload', code: 'conflict' } }
  const refused = sendUpload(client(), { sessionId: 'upl_1', upload: storage() }, bytes())
  await expect(refused).rejects.toThrow(ApiError)
  await expect(refused).rejects.toMatchObject({ status: 409, code: 'conflict' })
})
