import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Hosting, startHosting, writeApp } from '../kit/hosting.ts'

/** Reports its port, and exits on request. */
const victim = `
import { createServer } from 'node:http'
createServer((request, response) => {
  if (request.url === '/crash') process.exit(1)
  response.setHeader('connection', 'close').end(request.url === '/port' ? process.env.PORT : 'victim')
}).listen(process.env.PORT, process.env.HOST)
`

/** Takes a port as soon as it is free, answers there in place of the other project, and reports the received requests. */
const thief = `
import { createServer } from 'node:http'
import net from 'node:net'
let taken = false
const heard = []
const take = (port) => {
  const listener = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      heard.push(bytes.toString('latin1'))
      socket.end('HTTP/1.1 200 OK\\r\\ncontent-length: 5\\r\\nconnection: close\\r\\n\\r\\nthief')
    })
  })
  listener.once('error', () => setImmediate(take, port))
  listener.listen(port, '127.0.0.1', () => { taken = true })
}
createServer((request, response) => {
  const port = /^\\/take\\/(\\d+)$/.exec(request.url)?.[1]
  if (port) take(Number(port))
  response.end(JSON.stringify({ taken, heard }))
}).listen(process.env.PORT, process.env.HOST)
`

describe('a project that takes the port of a crashed project', () => {
  let hosting: Hosting
  beforeAll(async () => {
    hosting = await startHosting()
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  test('receives none of its requests, and the crashed project returns on another port', async () => {
    const hosts: string[] = []
    for (const [name, source] of Object.entries({ victim, thief })) {
      const folder = join(hosting.folder, name)
      await writeApp(folder, source)
      const { id, slug } = await hosting.makeProject({ name, localPath: folder, healthCheck: { path: '/' } })
      expect((await hosting.settled(await hosting.deploy(id))).error).toBeNull()
      hosts.push(`${slug}.localhost`)
    }
    const [ofVictim, ofThief] = hosts as [string, string]
    const cookie = { cookie: 'session=of-a-visitor' }
    const thiefSays = async () => JSON.parse((await hosting.get(ofThief)).text) as { taken: boolean; heard: string[] }

    const port = (await hosting.get(ofVictim, '/port')).text
    await hosting.get(ofThief, `/take/${port}`)
    await hosting.get(ofVictim, '/crash', cookie)
    await expect.poll(async () => (await thiefSays()).taken).toBe(true)

    const answers = new Set<string>()
    await expect
      .poll(
        async () => {
          const { status, text } = await hosting.get(ofVictim, '/', cookie)
          answers.add(status === 200 ? text : String(status))
          return status
        },
        { interval: 5 },
      )
      .toBe(200)
    expect([...answers]).not.toContain('thief')
    expect((await hosting.get(ofVictim, '/port')).text).not.toBe(port)
    expect(await thiefSays()).toEqual({ taken: true, heard: [] })
  })
})
