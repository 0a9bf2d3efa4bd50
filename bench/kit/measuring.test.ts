import { describe, expect, test } from 'vitest'
import { startDaemon } from '../../tests/kit/daemon.ts'
import { serve } from '../../tests/kit/http-server.ts'
import { percentile, putLoadOn } from './load.ts'
import { memoryOf, memoryOfTree } from './process-memory.ts'
import { startReferenceServer } from './reference-server.ts'
import { ratio, table } from './table.ts'

describe('the load generator', () => {
  test('sends exactly the requests asked for, over no more connections than asked for', async () => {
    let served = 0
    let connections = 0
    await using origin = await serve((_request, response) => {
      served++
      response.end('ok')
    })
    origin.server.on('connection', () => connections++)
    const result = await putLoadOn({ url: origin.url, connections: 5, requests: 203 })
    expect(result).toMatchObject({ requests: 203, errors: 0 })
    expect(served).toBe(203)
    expect(connections).toBeLessThanOrEqual(5)
    expect(result.p50Ms).toBeLessThanOrEqual(result.p99Ms)
  })

  test('counts refused connections and error replies', async () => {
    const origin = await serve((_request, response) => response.writeHead(503).end())
    expect((await putLoadOn({ url: origin.url, connections: 2, requests: 10 })).errors).toBe(10)
    await origin.close()
    expect((await putLoadOn({ url: origin.url, connections: 2, requests: 10 })).errors).toBe(10)
  })

  test('a percentile is a value that was measured', () => {
    const values = Array.from({ length: 200 }, (_, index) => index + 1)
    expect([percentile(values, 50), percentile(values, 99), percentile([7], 99), percentile([], 50)]).toEqual([100, 198, 7, 0])
  })
})

test('the reference server answers with the given body and stays within its own process', async () => {
  await using server = await startReferenceServer('{"data":{"n":1}}')
  const reply = await fetch(server.url)
  expect(reply.headers.get('content-type')).toMatch(/application\/json/)
  expect(await reply.text()).toBe('{"data":{"n":1}}')
  expect(server.pid).not.toBe(process.pid)
})

test('the memory of a tree is the sum of its processes', async () => {
  const script = `require('node:child_process').spawn(process.execPath, ['-e', 'console.log("up"); setInterval(() => {}, 999)'], { stdio: 'inherit' })`
  await using daemon = await startDaemon({ program: process.execPath, args: ['-e', script], ready: /up/ })
  const tree = await memoryOfTree(daemon.pid)
  expect(tree.processes).toHaveLength(2)
  expect(tree.rssBytes).toBe(tree.processes.reduce((sum, { rssBytes }) => sum + rssBytes, 0))
  expect(tree.pssBytes).toBeLessThan(tree.rssBytes)
  expect(tree.processes[0]!.rssBytes).toBeGreaterThan(10e6)
  expect(await memoryOf(2 ** 22 + 1)).toBeUndefined()
})

test('a table lines up and can go into the docs as it is', () => {
  expect(
    table(
      ['what', 'rps', 'ratio'],
      [
        ['bare', 12345.6, ratio(1, 1)],
        ['full stack', 9.8765, ratio(1, 3)],
      ],
    ),
  ).toBe(
    [
      '| what       |    rps | ratio |',
      '|------------|-------:|------:|',
      '| bare       | 12,346 |  1.00 |',
      '| full stack |   9.88 |  0.33 |',
    ].join('\n'),
  )
})
