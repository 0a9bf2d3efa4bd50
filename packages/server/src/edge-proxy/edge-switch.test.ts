import http from 'node:http'
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, serve, startEdge, startUpstream, type TestEdge, type TestUpstream } from '../drivers/edge/edge-fixture.ts'

let edge: TestEdge
const upstreams: TestUpstream[] = []
const keep = (upstream: TestUpstream) => {
  upstreams.push(upstream)
  return upstream
}
const version = async (name: string, delayMs = 0) =>
  keep(
    await startUpstream((request, response) => request.resume().on('end', () => setTimeout(() => response.end(name), delayMs))),
  )

beforeAll(async () => {
  edge = await startEdge()
})
afterAll(async () => {
  await edge.end()
  await Promise.all(upstreams.map((upstream) => upstream.close()))
})

describe('a switch to another deployment', () => {
  test('fails no request under constant load, of any method, while old copies are drained and stopped', async () => {
    const host = 'switch.test'
    const projectId = 'switched'
    const route = (upstream: TestUpstream) => {
      const entry = serve(upstream)
      return edge.route({ [host]: { ...entry, target: { ...entry.target, projectId } as typeof entry.target } })
    }
    let current = await version('v0', 2)
    await route(current)
    let running = true
    let sent = 0
    const failures: string[] = []
    const client = async (method: string) => {
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
      while (running) {
        sent += 1
        const answer = await edge
          .request(host, '/', { agent, method, body: method === 'GET' ? undefined : 'body' })
          .catch((error) => ({ status: 0, body: String(error) }))
        if (answer.status !== 200) failures.push(`${method} ${answer.status} ${answer.body}`)
      }
      agent.destroy()
    }
    const clients = ['GET', 'GET', 'GET', 'POST', 'POST', 'PUT'].map(client)
    for (let at = 1; at <= 15; at += 1) {
      const next = await version(`v${at}`, at % 5)
      await route(next)
      expect((await edge.request(host)).body).toBe(`v${at}`)
      expect(await edge.driver.drain(current.id, 60_000)).toEqual({ inFlight: 0 })
      await current.close()
      current = next
    }
    running = false
    await Promise.all(clients)
    expect(failures).toEqual([])
    const counters = await edge.driver.requestTotals(projectId)
    expect(counters.failed).toBe(0)
    expect(counters.total).toBe(sent + 15)
  })

  test('takes effect at once, also on open connections', async () => {
    const [first, second] = [await version('first'), await version('second')]
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    await edge.route({ 'atonce.test': serve(first) })
    for (const [upstream, name] of [
      [second, 'second'],
      [first, 'first'],
      [second, 'second'],
    ] as const) {
      await edge.route({ 'atonce.test': serve(upstream) })
      expect((await edge.request('atonce.test', '/', { agent })).body).toBe(name)
    }
    agent.destroy()
  })

  test('lets running requests end where they began; drain waits for them up to its time limit', async () => {
    let finish = () => {}
    const slow = keep(
      await startUpstream((_, response) => {
        response.write('old ')
        finish = () => response.end('end')
      }),
    )
    const fast = await version('new')
    await edge.route({ 'drain.test': serve(slow) })
    const under = edge.request('drain.test')
    await eventually(async () => (await edge.driver.drain(slow.id, 1)).inFlight === 1)
    await edge.route({ 'drain.test': serve(fast) })
    expect((await edge.request('drain.test')).body).toBe('new')
    expect(await edge.driver.drain(slow.id, 50)).toEqual({ inFlight: 1 })
    const waitForDrain = edge.driver.drain(slow.id, 60_000)
    finish()
    expect((await under).body).toBe('old end')
    expect(await waitForDrain).toEqual({ inFlight: 0 })
    expect(await edge.driver.drain('never heard of', 60_000)).toEqual({ inFlight: 0 })
  })

  test('counts an open websocket as a running request', async () => {
    const upstream = keep(
      await startUpstream(
        () => {},
        (server) =>
          server.on('upgrade', (_, socket) => {
            socket.on('error', () => {})
            socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
            socket.pipe(socket)
          }),
      ),
    )
    await edge.route({ 'wsdrain.test': serve(upstream) })
    const socket = net.connect(edge.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: wsdrain.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    await new Promise((resolve) => socket.once('data', resolve))
    await edge.route({ 'wsdrain.test': serve(await version('new')) })
    expect(await edge.driver.drain(upstream.id, 20)).toEqual({ inFlight: 1 })
    const before = Date.now()
    expect((await edge.driver.activity())[`project-${upstream.id}`]).toBeGreaterThanOrEqual(before)
    socket.destroy()
    expect(await edge.driver.drain(upstream.id, 60_000)).toEqual({ inFlight: 0 })
  })

  test('distributes requests over several instances by weight', async () => {
    const [heavy, light] = [await version('heavy'), await version('light')]
    await edge.route({ 'weights.test': serve({ ...heavy, weight: 3 }, { ...light, weight: 1 }) })
    const names: string[] = []
    for (let at = 0; at < 12; at += 1) names.push((await edge.request('weights.test')).body)
    expect(names.filter((name) => name === 'heavy')).toHaveLength(9)
  })
})

describe('a sleeping project', () => {
  test('is woken once, and 200 concurrent requests are all answered afterwards, bodies included', async () => {
    const projectId = 'sleeper'
    await edge.route({ 'sleep.test': { target: { kind: 'sleeping', projectId } } })
    const answers = Array.from({ length: 200 }, (_, at) =>
      at % 4 === 0
        ? edge.request('sleep.test', `/${at}`, { method: 'POST', body: `body ${at}` })
        : edge.request('sleep.test', `/${at}`),
    )
    await eventually(() => edge.woken.includes(projectId))
    const upstream = keep(
      await startUpstream((request, response) => {
        let body = ''
        request.on('data', (part) => {
          body += part
        })
        request.on('end', () => response.end(`${request.url} ${body}`))
      }),
    )
    const entry = serve(upstream)
    await edge.route({ 'sleep.test': { target: { ...entry.target, projectId } as typeof entry.target } })
    const settled = await Promise.all(answers)
    expect(settled.map((answer) => answer.status)).toEqual(Array(200).fill(200))
    expect(settled.map((answer) => answer.body.trim())).toEqual(
      Array.from({ length: 200 }, (_, at) => (at % 4 === 0 ? `/${at} body ${at}` : `/${at}`)),
    )
  })

  test('that does not wake in time is 503 with Retry-After', async () => {
    await edge.route({ 'deep.test': { target: { kind: 'sleeping', projectId: 'deep', holdTimeoutMs: 300 } } })
    const answer = await edge.request('deep.test')
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5'])
    expect(await edge.driver.requestTotals('deep')).toEqual({ total: 1, failed: 1 })
  })

  test('holds a limited number of requests', async () => {
    await edge.route(
      { 'crowd.test': { target: { kind: 'sleeping', projectId: 'crowd', holdTimeoutMs: 400 } } },
      { limits: { heldRequests: 5, clientShare: 1, projectShare: 1 } },
    )
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => edge.request('crowd.test', '/', { headers: { accept: 'application/json' } })),
    )
    const words = answers.map((answer) => JSON.parse(answer.body).error)
    expect(words.filter((text) => text.includes('Too many'))).toHaveLength(3)
    await edge.route({}, { limits: {} })
  })

  test('releases a held request when its client disconnects', async () => {
    await edge.route({ 'left.test': { target: { kind: 'sleeping', projectId: 'left' } } })
    const socket = net.connect(edge.port, '127.0.0.1')
    socket.write('GET /left HTTP/1.1\r\nHost: left.test\r\n\r\n')
    await eventually(() => edge.woken.includes('left'))
    socket.destroy()
    expect((await edge.record('/left')).status).toBe(499)
  })
})
