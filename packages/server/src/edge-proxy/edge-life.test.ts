import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import http from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually, send, serve, startUpstream, type TestUpstream, testSettings } from '../drivers/edge/edge-fixture.ts'
import { EmbeddedEdge, type EmbeddedEdgeOptions } from '../drivers/edge/embedded-edge.ts'
import type { EdgeListening } from './protocol/edge-listening.ts'
import type { EdgeTable } from './protocol/edge-table.ts'
import { wholePieces } from './protocol/table-pieces.ts'
import { TableFile } from './routing/table-file.ts'

let folder: string
let upstream: TestUpstream
let drivers: EmbeddedEdge[]
let children: ChildProcess[]

beforeAll(async () => {
  upstream = await startUpstream((_, response) => response.end('served'))
})
afterAll(() => upstream.close())
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-life-'))
  drivers = []
  children = []
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  for (const driver of drivers) await driver.stop({ keepServing: false, graceMs: 0 })
  await rm(folder, { recursive: true, force: true })
})

const table = (version = 1): EdgeTable => ({ version, hosts: { 'a.test': serve(upstream) } })
const driver = (options: Partial<EmbeddedEdgeOptions> = {}) => {
  const made = new EmbeddedEdge({ ...testSettings(folder), ...options })
  drivers.push(made)
  return made
}
const lines = (whole: EdgeTable) => [...wholePieces(whole, 't')].map((piece) => `${JSON.stringify(piece)}\n`).join('')
const pidOf = async () => Number(await readFile(join(folder, 'edge', 'edge.lock'), 'utf8'))
const statusAt = (port: number, host = 'a.test') =>
  send(port, host, '/', {}).then(
    (answer) => answer.status,
    () => 0,
  )
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Starts a separate control plane; resolves when its edge serves. */
async function startControlSide(): Promise<{ child: ChildProcess; port: number }> {
  const script = fileURLToPath(new URL('../drivers/edge/control-side.fixture.ts', import.meta.url))
  const child = spawn(process.execPath, [script, JSON.stringify(testSettings(folder)), JSON.stringify(table())], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const text = await new Promise<string>((resolve) => child.stdout!.once('data', (part) => resolve(String(part))))
  return { child, port: (JSON.parse(text) as EdgeListening).http.port }
}

describe('the edge and its control plane', () => {
  test('after kill -9 of the control plane the edge keeps serving, and the next control plane reuses it with its connections', async () => {
    const { child, port } = await startControlSide()
    const pid = await pidOf()
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    expect((await send(port, 'a.test', '/', { agent })).body).toBe('served')
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('exit', resolve))
    for (let at = 0; at < 20; at += 1) expect((await send(port, 'a.test', '/while-alone', { agent })).body).toBe('served')

    const next = driver()
    const records: string[] = []
    next.onRequests((batch) => records.push(...batch.map((record) => record.path)))
    expect((await next.start()).http.port).toBe(port)
    expect(await pidOf()).toBe(pid)
    await eventually(() => records.filter((path) => path === '/while-alone').length === 20)
    await next.apply({ version: 2, hosts: {} })
    expect((await send(port, 'a.test', '/', { agent })).status).toBe(404)
    agent.destroy()
  })

  test('a request held without a control plane wakes the project when the control plane is back', async () => {
    const first = driver()
    const { http: at } = await first.start()
    await first.apply({ version: 1, hosts: { 'zzz.test': { target: { kind: 'sleeping', projectId: 'zzz' } } } })
    await first.stop({ keepServing: true })
    const answer = send(at.port, 'zzz.test', '/', {})
    await new Promise((resolve) => setTimeout(resolve, 100))
    const second = driver()
    second.onWake(() => void second.apply({ version: 2, hosts: { 'zzz.test': serve(upstream) } }))
    await second.start()
    expect((await answer).body).toBe('served')
  })

  test('a killed edge is started again and serves the last table', async () => {
    const edge = driver({ http: { host: '127.0.0.1', port: await freePort() } })
    const { http: at } = await edge.start()
    await edge.apply(table())
    const pid = await pidOf()
    process.kill(pid, 'SIGKILL')
    await eventually(async () => (await statusAt(at.port)) === 200)
    expect(await pidOf()).not.toBe(pid)
    expect(await edge.apply(table(7))).toMatchObject({ version: 7 })
  })

  test('a table applied while the edge is down is active when the call resolves', async () => {
    const edge = driver({ http: { host: '127.0.0.1', port: await freePort() } })
    const { http: at } = await edge.start()
    await edge.apply({ version: 1, hosts: {} })
    process.kill(await pidOf(), 'SIGKILL')
    await edge.apply(table(2))
    expect(await statusAt(at.port)).toBe(200)
  })

  test('an edge serves the table on disk before a control plane connects', async () => {
    await mkdir(join(folder, 'edge'), { recursive: true })
    await writeFile(join(folder, 'edge', 'table.jsonl'), lines(table(41)))
    const { http: at } = await driver().start()
    expect(await statusAt(at.port)).toBe(200)
  })

  test('a truncated table on disk is ignored', async () => {
    await mkdir(join(folder, 'edge'), { recursive: true })
    await writeFile(join(folder, 'edge', 'table.jsonl'), lines(table()).slice(0, 20))
    const edge = driver()
    const { http: at } = await edge.start()
    expect(await statusAt(at.port)).toBe(404)
    await edge.apply(table())
    expect((await new TableFile(join(folder, 'edge', 'table.jsonl')).read()).version).toBe(1)
  })

  test('a folder whose path is too long for a socket works', async () => {
    const deep = join(folder, 'x'.repeat(90), 'y'.repeat(60))
    const edge = driver({ folder: deep })
    const { http: at } = await edge.start()
    await edge.apply(table())
    expect(await statusAt(at.port)).toBe(200)
    const other = driver({ folder: deep })
    expect((await other.start()).http.port).toBe(at.port)
  })

  test('socket and table are accessible to their owner only', async () => {
    const edge = driver()
    await edge.start()
    await edge.apply(table())
    for (const name of ['control.sock', 'table.jsonl', 'edge.lock'])
      expect((await stat(join(folder, 'edge', name))).mode & 0o777).toBe(0o600)
    expect((await stat(join(folder, 'edge'))).mode & 0o777).toBe(0o700)
  })

  test('stop ends the process after running requests have finished', async () => {
    let finish = () => {}
    const slow = await startUpstream((_, response) => {
      response.write('a')
      finish = () => response.end('b')
    })
    const edge = driver()
    const { http: at } = await edge.start()
    await edge.apply({ version: 1, hosts: { 'slow.test': serve(slow) } })
    const pid = await pidOf()
    const answer = send(at.port, 'slow.test', '/', {})
    await eventually(async () => (await edge.drain(slow.id, 1)).inFlight === 1)
    const stopped = edge.stop({ keepServing: false, graceMs: 5_000 })
    await eventually(async () => (await statusAt(at.port)) === 0)
    finish()
    expect((await answer).body).toBe('ab')
    await stopped
    expect(isAlive(pid)).toBe(false)
    await slow.close()
  })

  test('stop answers held requests with 503', async () => {
    const edge = driver()
    const { http: at } = await edge.start()
    await edge.apply({ version: 1, hosts: { 'zzz.test': { target: { kind: 'sleeping', projectId: 'zzz' } } } })
    const woken = new Promise((resolve) => edge.onWake(resolve))
    const status = statusAt(at.port, 'zzz.test')
    await woken
    await edge.stop({ keepServing: false })
    expect(await status).toBe(503)
  })

  test('a port in use stops the start with the reason', async () => {
    const edge = driver({ http: { host: '127.0.0.1', port: upstream.port } })
    await expect(edge.start()).rejects.toThrow(/EADDRINUSE/)
  })

  test('two control planes in one folder start one edge', async () => {
    const [one, two] = [driver(), driver()]
    const [a, b] = await Promise.all([one.start(), two.start()])
    expect(a.http.port).toBe(b.http.port)
  })

  test('an edge whose folder is removed exits, since no control plane could find it', async () => {
    const edge = driver({ orphanExitMs: null })
    await edge.start()
    const pid = await pidOf()
    await edge.stop({ keepServing: true })
    await rm(folder, { recursive: true, force: true })
    await eventually(() => !isAlive(pid))
  })

  test('an edge without a control plane exits after orphanExitMs', async () => {
    // Longer than a busy machine takes to connect to the edge that it has started.
    const edge = driver({ orphanExitMs: 5_000 })
    await edge.start()
    const pid = await pidOf()
    await edge.stop({ keepServing: true })
    await eventually(() => !isAlive(pid))
  })
})

describe('another build of the edge', () => {
  test('takes over under load without a failed request or refused connection, after running requests have finished', async () => {
    const old = driver({ buildId: 'one' })
    const { http: at } = await old.start()
    let finish = () => {}
    const slow = await startUpstream((_, response) => {
      response.write('a')
      finish = () => response.end('b')
    })
    await old.apply({ version: 1, hosts: { ...table().hosts, 'slow.test': serve(slow) } })
    const pid = await pidOf()
    const under = send(at.port, 'slow.test', '/', {})
    await eventually(async () => (await old.drain(slow.id, 1)).inFlight === 1)
    await old.stop({ keepServing: true })
    let running = true
    const failures: string[] = []
    let sent = 0
    const client = async (keepAlive: boolean) => {
      const agent = new http.Agent({ keepAlive, maxSockets: 1 })
      while (running) {
        sent += 1
        await send(at.port, 'a.test', '/', { agent }).catch((error) => failures.push(String(error)))
      }
      agent.destroy()
    }
    const clients = [true, true, false, false, false].map(client)
    await eventually(() => sent > 50)
    const next = driver({ buildId: 'two' })
    expect((await next.start()).http.port).toBe(at.port)
    expect(await pidOf()).not.toBe(pid)
    const before = sent
    await eventually(() => sent > before + 200)
    finish()
    expect((await under).body).toBe('ab')
    await eventually(() => !isAlive(pid))
    running = false
    await Promise.all(clients)
    expect(failures).toEqual([])
    await slow.close()
  })

  test('on another port replaces the running one', async () => {
    const old = driver({ buildId: 'one' })
    await old.start()
    await old.apply(table())
    const pid = await pidOf()
    await old.stop({ keepServing: true })
    const port = await freePort()
    const next = driver({ buildId: 'one', http: { host: '127.0.0.1', port } })
    expect((await next.start()).http.port).toBe(port)
    expect(isAlive(pid)).toBe(false)
    expect(await statusAt(port)).toBe(200)
  })
})

describe('several workers', () => {
  test('serve on one port, follow every table, share a rate limit and sum up their counts', async () => {
    const edge = driver({ workers: 3 })
    const { http: at } = await edge.start()
    const host = {
      ...serve(upstream),
      rules: [{ id: 'r', kind: 'rate-limit' as const, enabled: true, config: { requests: 20, windowSeconds: 60 } }],
    }
    await edge.apply({ version: 1, hosts: { 'a.test': serve(upstream), 'limited.test': host } })
    const statuses = await Promise.all(Array.from({ length: 60 }, () => statusAt(at.port)))
    expect(statuses).toEqual(Array(60).fill(200))
    expect(await edge.requestTotals(`project-${upstream.id}`)).toEqual({ total: 60, failed: 0 })
    let passed = 0
    for (let round = 0; round < 15; round += 1) {
      const answers = await Promise.all(Array.from({ length: 4 }, () => statusAt(at.port, 'limited.test')))
      passed += answers.filter((status) => status === 200).length
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
    expect(passed).toBeGreaterThanOrEqual(20)
    expect(passed).toBeLessThan(32)
    await edge.apply({ version: 2, hosts: {} })
    expect(await Promise.all(Array.from({ length: 30 }, () => statusAt(at.port)))).toEqual(Array(30).fill(404))
    const pid = await pidOf()
    await edge.stop({ keepServing: false })
    expect(isAlive(pid)).toBe(false)
    expect(await statusAt(at.port)).toBe(0)
  })
})

async function freePort(): Promise<number> {
  const server = net.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as net.AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
