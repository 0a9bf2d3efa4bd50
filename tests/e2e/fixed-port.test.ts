import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../kit/free-port.ts'
import { type Hosting, keepRequesting, startHosting, writeApp } from '../kit/hosting.ts'

/** Reads no PORT. */
const node = (text: string, port: number) => `
import { createServer } from 'node:http'
const server = createServer((_, response) => response.end('${text}')).listen(${port})
process.on('SIGTERM', () => { server.close(() => process.exit(0)); server.closeIdleConnections() })
`
const python = (text: string, port: number) => `
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header('content-length', '${text.length}')
        self.end_headers()
        self.wfile.write(b'${text}')
ThreadingHTTPServer(('127.0.0.1', ${port}), Page).serve_forever()
`
const hasPython = existsSync('/usr/bin/python3')

describe('projects with hard-coded ports, without Docker', () => {
  let hosting: Hosting
  let port: number
  beforeAll(async () => {
    hosting = await startHosting()
    port = await freePort()
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  const goLive = async (projectId: string) => {
    const deployment = await hosting.settled(await hosting.deploy(projectId))
    expect(deployment).toMatchObject({ status: 'live', error: null })
  }
  const hostOf = ({ slug }: { slug: string }) => `${slug}.localhost`

  test('run side by side, and are redeployed without a failed request', async () => {
    const make = async (name: string) => {
      await writeApp(join(hosting.folder, name), node(name, port))
      const project = await hosting.makeProject({ name, localPath: join(hosting.folder, name), port })
      await goLive(project.id)
      return project
    }
    const [one, other] = [await make('one'), await make('other')]
    expect((await hosting.get(hostOf(other))).text).toBe('other')
    const requests = keepRequesting(hosting.berth.edgeUrl, hostOf(one))
    await writeApp(join(hosting.folder, 'one'), node('two', port))
    await goLive(one.id)
    await expect.poll(async () => (await hosting.get(hostOf(one))).text).toBe('two')
    const { failures, bodies } = await requests.stop()
    expect(failures).toEqual([])
    expect([...bodies.keys()].sort()).toEqual(['one', 'two'])
    expect((await hosting.get(hostOf(other))).text).toBe('other')
  })

  test.skipIf(!hasPython)('in other languages are redeployed on the same port', async () => {
    const folder = join(hosting.folder, 'python')
    const fixed = await freePort()
    await mkdir(folder)
    const write = (text: string) => writeFile(join(folder, 'server.py'), python(text, fixed))
    await write('first')
    const project = await hosting.makeProject({
      name: 'python',
      localPath: folder,
      startCommand: 'python3 server.py',
      port: fixed,
    })
    await goLive(project.id)
    expect((await hosting.get(hostOf(project))).text).toBe('first')
    await write('second')
    await goLive(project.id)
    expect((await hosting.get(hostOf(project))).text).toBe('second')
  })
})
