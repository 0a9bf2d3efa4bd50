import { Agent } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { serve } from '../../../../../../tests/kit/http-server.ts'
import { Allowance, boundedGet } from './bounded-get.ts'

test('answers that end together are parsed and reduced one in a turn of the event loop', async () => {
  const count = 8
  const waiting: (() => void)[] = []
  const engine = await serve((request, response) => {
    waiting.push(() => response.end(JSON.stringify({ path: request.url, rest: 'x'.repeat(50_000) })))
    if (waiting.length === count) for (const answer of waiting) answer()
  })
  const { hostname, port } = new URL(engine.url)
  const agent = Object.assign(new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY }), {
    createConnection: () => connect(Number(port), hostname),
  })
  const allowance = new Allowance({ kept: 8e6, received: 8e6 })
  let turn = 0
  const next = () => {
    turn += 1
    ticking = setImmediate(next)
  }
  let ticking = setImmediate(next)
  const turns: number[] = []
  const extract = (answer: unknown) => {
    turns.push(turn)
    return (answer as { path: string }).path
  }
  const bounds = { maxBytes: 100_000, allowance, extract }
  const never = new AbortController().signal
  const answers = await Promise.all(Array.from({ length: count }, (_, at) => boundedGet(`/${at}`, agent, bounds, never)))
  clearImmediate(ticking)
  await engine.close()
  expect(answers).toEqual(Array.from({ length: count }, (_, at) => `/${at}`))
  expect(new Set(turns).size).toBe(count)
})
