import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startEdge, type TestEdge } from '../drivers/edge/edge-fixture.ts'
import type { ListenerOwner } from '../platform/listener/listener-owner.ts'
import type { EdgeHost, EdgeUpstream } from './protocol/edge-table.ts'

/** A user id that is not used on this machine. */
const projectUid = 0x1fff0001
const isRoot = process.getuid?.() === 0
const bwrap = process.env.BERTH_TEST_BWRAP ?? '/usr/bin/bwrap'

const server = (listen: string) => `
  const server = require('http').createServer((request, response) => response.setHeader('connection', 'close').end('own'))
  server.listen(${listen}, () => console.log(server.address().port))
  process.on('disconnect', () => process.exit())
  process.stdin.resume().on('end', () => process.exit())`
/** Runs the program in its last argument, and waits for it. */
const starter = (options: string) => `
  const child = require('child_process').spawn(process.execPath, ['-e', process.argv[1]], ${options})
  child.on('exit', () => process.exit())`

let edge: TestEdge
const children: ChildProcess[] = []
const servers: net.Server[] = []
let count = 0

beforeAll(async () => {
  edge = await startEdge()
})
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.stdin?.end()
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await new Promise((resolve) => child.once('exit', resolve))
    }
  }
  for (const one of servers.splice(0)) await new Promise((resolve) => one.close(resolve))
})
afterAll(() => edge.end())

async function run(argv: string[], options: { uid?: number } = {}): Promise<{ child: ChildProcess; port: number }> {
  const [file, ...args] = argv as [string, ...string[]]
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true, cwd: '/', ...options })
  children.push(child)
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout!.once('data', (line: Buffer) => resolve(Number(line.toString())))
    child.once('exit', (code) => reject(new Error(`the program ended with ${code}`)))
  })
  return { child, port }
}

const treeOf = ({ pid }: ChildProcess): ListenerOwner => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return { pid: pid!, startTime: stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]! }
}

/** Routes a new host to the address; returns the host name. */
async function routeTo(port: number, listener: ListenerOwner): Promise<string> {
  count += 1
  const host = `listener-${count}.test`
  const upstream: EdgeUpstream = { id: `listener-${count}`, host: '127.0.0.1', port, listener }
  const target: EdgeHost['target'] = { kind: 'upstreams', projectId: host, deploymentId: host, upstreams: [upstream] }
  await edge.route({ [host]: { target } })
  return host
}

const withCookie = { headers: { cookie: 'session=of-a-visitor' } }

/** A foreign listener, in this test process. Records the bytes it receives. */
async function outsider(listen: net.ListenOptions, greeting = ''): Promise<{ port: number; heard: string[] }> {
  const heard: string[] = []
  const listener = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      heard.push(bytes.toString('latin1'))
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nstolen')
    })
    if (greeting) socket.write(greeting)
  })
  servers.push(listener)
  await new Promise<void>((resolve, reject) => listener.once('error', reject).listen(listen, resolve))
  return { port: (listener.address() as net.AddressInfo).port, heard }
}

describe('a listener is identified by its user', () => {
  test.runIf(isRoot)('the listener of the project is used, on any address', async () => {
    for (const listen of ["0, '127.0.0.1'", "0, '0.0.0.0'", "0, '::ffff:127.0.0.1'"]) {
      const { port } = await run([process.execPath, '-e', server(listen)], { uid: projectUid })
      const host = await routeTo(port, { uid: projectUid })
      expect(await edge.request(host, '/', withCookie)).toMatchObject({ status: 200, body: 'own' })
    }
  })

  test.runIf(isRoot)('a foreign listener on the port of a crashed project gets no request', async () => {
    const { child, port } = await run([process.execPath, '-e', server("0, '127.0.0.1'")], { uid: projectUid })
    const host = await routeTo(port, { uid: projectUid })
    expect(await edge.request(host, '/', withCookie)).toMatchObject({ status: 200, body: 'own' })
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('exit', resolve))
    const { heard } = await outsider({ port, host: '127.0.0.1' })
    for (let visit = 0; visit < 20; visit++) expect((await edge.request(host, '/', withCookie)).status).toBe(502)
    const posted = await edge.request(host, '/', { ...withCookie, method: 'POST', body: 'password=secret' })
    expect(posted.status).toBe(502)
    expect(heard).toEqual([])
  })

  test('a response that a foreign listener sends first is not forwarded', async () => {
    const { port, heard } = await outsider({ port: 0, host: '127.0.0.1' }, 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nstolen')
    const host = await routeTo(port, { uid: projectUid })
    for (let visit = 0; visit < 20; visit++) expect((await edge.request(host, '/', withCookie)).body).not.toContain('stolen')
    expect(heard).toEqual([])
  })

  test.runIf(isRoot)('a foreign listener on the same port of IPv6 only has no effect', async () => {
    const { port } = await run([process.execPath, '-e', server("0, '0.0.0.0'")], { uid: projectUid })
    const beside = await outsider({ port, host: '::', ipv6Only: true }).catch(() => undefined)
    const host = await routeTo(port, { uid: projectUid })
    expect(await edge.request(host, '/', withCookie)).toMatchObject({ status: 200, body: 'own' })
    expect(beside?.heard ?? []).toEqual([])
  })
})

describe('a listener is identified by its process', () => {
  test('the process, its descendants and detached children are accepted', async () => {
    const program = server("0, '127.0.0.1'")
    const commands = [
      [process.execPath, '-e', program],
      [process.execPath, '-e', starter("{ stdio: 'inherit' }"), program],
      [process.execPath, '-e', starter("{ stdio: 'inherit', detached: true }"), program],
    ]
    for (const command of commands) {
      const { child, port } = await run(command)
      const host = await routeTo(port, treeOf(child))
      expect(await edge.request(host, '/', withCookie)).toMatchObject({ status: 200, body: 'own' })
      const stranded = await routeTo(port, { pid: process.pid, startTime: '1' })
      expect((await edge.request(stranded, '/', withCookie)).status).toBe(502)
    }
  })

  test.runIf(existsSync(bwrap))('a program in its own pid namespace is found', async () => {
    const inside = [process.execPath, '-e', server("0, '127.0.0.1'")]
    const words = ['--bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--unshare-pid', '--unshare-user', '--new-session']
    const { child, port } = await run([bwrap, ...words, '--', ...inside])
    const host = await routeTo(port, treeOf(child))
    expect(await edge.request(host, '/', withCookie)).toMatchObject({ status: 200, body: 'own' })
  })

  test('another process of the same user gets no request', async () => {
    const { child, port } = await run([process.execPath, '-e', server("0, '127.0.0.1'")])
    const owner = treeOf(child)
    const host = await routeTo(port, owner)
    expect((await edge.request(host, '/', withCookie)).status).toBe(200)
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('exit', resolve))
    const { heard } = await outsider({ port, host: '127.0.0.1' })
    const neighbour = await run([process.execPath, '-e', server("0, '127.0.0.1'")])
    const other = await routeTo(neighbour.port, owner)
    for (let visit = 0; visit < 20; visit++) {
      expect((await edge.request(host, '/', withCookie)).status).toBe(502)
      expect((await edge.request(other, '/', withCookie)).status).toBe(502)
    }
    expect(heard).toEqual([])
  })

  test('a process that shares the port gets no request', async () => {
    const { child, port } = await run([process.execPath, '-e', server("{ port: 0, host: '127.0.0.1', reusePort: true }")])
    const host = await routeTo(port, treeOf(child))
    expect((await edge.request(host, '/', withCookie)).status).toBe(200)
    const { heard } = await outsider({ port, host: '127.0.0.1', reusePort: true } as net.ListenOptions)
    const agent = new http.Agent()
    for (let visit = 0; visit < 40; visit++)
      await edge.request(host, '/', { headers: { ...withCookie.headers, connection: 'close' }, agent })
    agent.destroy()
    expect(heard).toEqual([])
  })
})
