import type { IncomingMessage } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { ConnectionsFirst } from './connections-first.ts'

/** Requests by the credential that they bring; each is noted once it is begun. */
function scene() {
  const connections = new ConnectionsFirst()
  const begun: string[] = []
  const request = (name: string, authorization: string) => {
    const socket = { destroyed: false, remoteAddress: '192.0.2.1' }
    connections.start({ headers: { authorization }, socket } as unknown as IncomingMessage, () => begun.push(name))
    return socket
  }
  return { connections, begun, request }
}

test('without new connections a request starts at once', () => {
  const { begun, request } = scene()
  for (const name of ['a', 'b', 'c']) request(name, 'one')
  expect(begun).toEqual(['a', 'b', 'c'])
})

test('while connections arrive, one request per caller is started', async () => {
  const { connections, begun, request } = scene()
  connections.noteConnection()
  for (const name of ['a', 'b', 'c']) request(name, 'one')
  request('other', 'two')
  expect(begun).toEqual(['a', 'other'])
  await vi.waitFor(() => expect(begun).toEqual(['a', 'other', 'b', 'c']), 20_000)
})

test('afterwards the callers take turns', async () => {
  const { connections, begun, request } = scene()
  connections.noteConnection()
  for (const name of ['a', 'b', 'c']) request(name, 'one')
  for (const name of ['x', 'y', 'z']) request(name, 'two')
  await vi.waitFor(() => expect(begun).toHaveLength(6), 20_000)
  expect(begun).toEqual(['a', 'x', 'b', 'y', 'c', 'z'])
})

test('afterwards many requests are started per turn, so that their writes share a commit', async () => {
  const { connections, begun, request } = scene()
  connections.noteConnection()
  await turn()
  connections.noteConnection()
  for (let at = 0; at < 100; at += 1) request(`${at}`, 'one')
  const perTurn: number[] = []
  while (begun.length < 100) {
    const before = begun.length
    await turn()
    perTurn.push(begun.length - before)
  }
  expect(Math.max(...perTurn)).toBeGreaterThan(1)
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(32)
})

test('a waiting request whose client disconnected is not started', async () => {
  const { connections, begun, request } = scene()
  connections.noteConnection()
  request('a', 'one')
  request('gone', 'one').destroyed = true
  request('c', 'one')
  await vi.waitFor(() => expect(begun).toEqual(['a', 'c']), 20_000)
})

test('a continuous stream of connections delays a request only for a limited time', async () => {
  const { connections, begun, request } = scene()
  let isOver = false
  const accepting = (async () => {
    while (!isOver) {
      connections.noteConnection()
      await turn()
    }
  })()
  connections.noteConnection()
  for (const name of ['a', 'b', 'c', 'd']) request(name, 'one')
  await vi.waitFor(() => expect(begun).toEqual(['a', 'b', 'c', 'd']), 20_000)
  isOver = true
  await accepting
})
