import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Hosting, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { describeOnRuntimes } from '../kit/runtimes.ts'

/** Accepts every connection and sends nothing. */
const dead = `
import { createServer } from 'node:net'
createServer(() => {}).listen(process.env.PORT, process.env.HOST)
`
/** Answers with bytes that are not HTTP. */
const other = `
import { createServer } from 'node:net'
createServer((socket) => socket.on('error', () => {}).on('data', () => socket.end('+PONG\\r\\n'))).listen(process.env.PORT, process.env.HOST)
`

describeOnRuntimes('a live deployment answers', (runtime) => {
  let hosting: Hosting
  beforeAll(async () => {
    hosting = await startHosting({ runtime })
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  async function deployed(name: string, source: string, healthCheck: object = {}) {
    const localPath = join(hosting.folder, name)
    await writeApp(localPath, source)
    const { id } = await hosting.makeProject({ name, localPath, healthCheck: { timeoutSeconds: 6, ...healthCheck } })
    return hosting.settled(await hosting.deploy(id))
  }

  test('a server that accepts connections without answering does not go live', async () => {
    const { status, error } = await deployed('dead', dead)
    expect([status, error?.code, error?.message]).toEqual(['failed', 'unhealthy', expect.stringContaining('no response within')])
  })

  const isContained = runtime === 'docker'
  test.runIf(isContained)(
    'in a container, the error for a server that listens only on 127.0.0.1 says to listen on 0.0.0.0',
    async () => {
      const { status, error } = await deployed('inward', serving('hidden').replace('process.env.HOST', "'127.0.0.1'"))
      expect([status, error?.message]).toEqual(['failed', expect.stringMatching(/127\.0\.0\.1:\d+ inside .*0\.0\.0\.0/)])
    },
  )

  test('a server that answers 5xx does not go live, unless its settings allow that status', async () => {
    const source = serving('broken', { status: 503 })
    const { status, error } = await deployed('broken', source)
    expect([status, error?.message]).toEqual(['failed', expect.stringMatching(/GET \/: it answered 503.*healthCheck\.path/)])
    expect(await deployed('accepted', source, { acceptErrors: true })).toMatchObject({ status: 'live', error: null })
  })

  test('a server that answers 404 and a server with another protocol go live', async () => {
    expect(await deployed('pageless', serving('nothing here', { status: 404 }))).toMatchObject({ status: 'live' })
    expect(await deployed('other', other)).toMatchObject({ status: 'live' })
  })
})
