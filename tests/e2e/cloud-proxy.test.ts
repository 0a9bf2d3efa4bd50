import { readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packFolder } from '../../packages/server/src/drivers/tarball/pack-folder.ts'
import { readEvents } from '../../packages/server/tests/kit/event-reader.ts'
import { storedTarball } from '../../packages/server/tests/kit/stored-tarball.ts'
import { type Hosting, startHosting } from '../kit/hosting.ts'

let here: Hosting
let cloud: Hosting
let tokens: { here: string; cloud: string }
beforeAll(async () => {
  ;[here, cloud] = await Promise.all([startHosting(), startHosting({ env: { BERTH_MODE: 'cloud' } })])
  tokens = { here: await tokenOf(here), cloud: await tokenOf(cloud) }
  const { status, body } = await here.api('PUT', '/cloud/link', { url: cloud.berth.url, token: tokens.cloud })
  expect({ status, body }).toMatchObject({ status: 200, body: { data: { linked: true } } })
})
afterAll(async () => {
  await here?.[Symbol.asyncDispose]()
  await cloud?.[Symbol.asyncDispose]()
})

const tokenOf = async ({ api }: Hosting): Promise<string> => (await api('POST', '/tokens', { name: 'test' })).body.data.token

/** The peak memory of the process since the last `resetPeak`, in MB. */
async function peakMb(pid: number): Promise<number> {
  return Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
}
const resetPeak = (pid: number) => writeFile(`/proc/${pid}/clear_refs`, '5')

/** Uploads a folder for a cloud project through the local instance. */
async function upload(projectId: string, bytes: AsyncIterable<Uint8Array>) {
  const opened = await here.api('POST', '/projects/folder/session', { projectId })
  const { sessionId } = opened.body.data
  const sent = request(`${here.berth.url}/api/projects/folder/upload/${sessionId}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens.here}`, 'content-type': 'application/gzip' },
  })
  const answered = new Promise<{ status: number; body: string }>((resolve, reject) => {
    sent.on('error', reject)
    sent.on('response', async (response) =>
      resolve({ status: response.statusCode ?? 0, body: Buffer.concat(await response.toArray()).toString() }),
    )
  })
  await pipeline(Readable.from(bytes, { objectMode: false }), sent)
  return { sessionId, ...(await answered) }
}

test('a 100 MB upload is forwarded to the cloud in bounded memory', async () => {
  const { id } = await cloud.makeProject({ name: 'Large' })
  // Code and caches that the first upload loads are not part of the cost of an upload.
  expect((await upload(id, storedTarball(1_000_000))).status).toBe(200)
  await resetPeak(here.berth.pid)
  const before = await peakMb(here.berth.pid)
  const { status, body } = await upload(id, storedTarball(100_000_000))
  expect({ status, body: JSON.parse(body).data }).toMatchObject({ status: 200, body: { files: 1 } })
  expect(JSON.parse(body).data.sizeBytes).toBeGreaterThan(100_000_000)
  const grownMb = (await peakMb(here.berth.pid)) - before
  console.log(`the passing instance grew by ${grownMb.toFixed(1)} MB over ${before.toFixed(0)} MB`)
  expect(grownMb).toBeLessThan(40)
})

test('a folder deployed to the cloud through this instance: the same events in the same order on both, and the page answers', async () => {
  const { id } = await cloud.makeProject({ name: 'Shop', startCommand: 'node server.js' })
  const { sessionId, status } = await upload(id, packFolder(await here.copyExample('node')))
  expect(status).toBe(200)
  const started = await here.api('POST', '/deployments/build/access', { projectId: id, uploadSessionId: sessionId })
  expect(started.status).toBe(202)
  const path = started.body.data.streamUrl as string
  const open = (url: string, token: string) => readEvents(`${url}${path}`, { authorization: `Bearer ${token}` })
  const direct = await open(cloud.berth.url, tokens.cloud)
  const through = await open(here.berth.url, tokens.here)
  await Promise.all([direct.ended, through.ended])
  expect(through.events.at(-1)).toMatchObject({ event: 'complete', data: { status: 'live' } })
  // A stream that is read a moment later also contains the steps after the switch.
  const completed = ({ events }: typeof direct) => {
    const { data, ...event } = events.at(-1)!
    const steps = data.steps as { name: string }[]
    return { ...event, data: { ...data, steps: steps.slice(0, steps.findIndex(({ name }) => name === 'switch') + 1) } }
  }
  expect(completed(through)).toEqual(completed(direct))
  // A stream that is opened later has more of the log in its snapshot; lines and steps arrive separately, each in order.
  for (const kind of ['log', 'step']) {
    const [reported, requested] = [through, direct].map(({ events }) => events.filter(({ event }) => event === kind))
    expect(reported).toEqual(requested!.slice(-reported!.length))
  }
  const { body } = await here.api('GET', `/projects/${id}`)
  expect(body).toEqual((await cloud.api('GET', `/projects/${id}`)).body)
  expect((await cloud.get(new URL(body.data.routes[0].url).host)).text).toBe('Hello from Berth\n')
})

test('while the cloud is stopped, its projects are 503 cloud_unreachable, and the home page and local projects still answer', async () => {
  const local = await here.makeProject({ name: 'Local' })
  const { id } = await cloud.makeProject({ name: 'Away' })
  await cloud.berth.kill9()
  expect(await here.api('GET', `/projects/${id}`)).toMatchObject({ status: 503, body: { code: 'cloud_unreachable' } })
  expect((await here.api('GET', '/projects/home')).body).toMatchObject({ cloud: { linked: true, reachable: false } })
  expect((await here.api('GET', `/projects/${local.id}`)).status).toBe(200)
  await cloud.berth.restart()
  expect((await here.api('GET', `/projects/${id}`)).status).toBe(200)
})
