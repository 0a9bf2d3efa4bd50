import { describe, expect, test } from 'vitest'
import type { EdgeHost, EdgeTable } from '../protocol/edge-table.ts'
import { changePieces, wholePieces } from '../protocol/table-pieces.ts'
import { RequestCounters } from '../records/request-counters.ts'
import { Routing } from './routing.ts'

const to = (id: string, port = 1): EdgeHost => ({
  target: { kind: 'upstreams', projectId: `p-${id}`, deploymentId: `d-${id}`, upstreams: [{ id, host: '127.0.0.1', port }] },
})
const counters = new RequestCounters()
const routing = (hosts: EdgeTable['hosts'], previous?: Routing, rest: Partial<EdgeTable> = {}) => {
  const made = new Routing('t', null, previous, counters)
  for (const piece of wholePieces({ version: 1, hosts, ...rest }, 't')) made.take(piece)
  return made
}

describe('host routing', () => {
  test('finds the exact host, then the longest wildcard', () => {
    const table = routing({ 'a.example.com': to('exact'), '*.example.com': to('wide'), '*.b.example.com': to('deep') })
    const found = (host: string) => table.find(host)?.projectId ?? null
    expect(found('a.example.com')).toBe('p-exact')
    expect(found('x.example.com')).toBe('p-wide')
    expect(found('x.b.example.com')).toBe('p-deep')
    expect(found('y.x.example.com')).toBe('p-wide')
    expect(found('example.com')).toBeNull()
    expect(found('example.org')).toBeNull()
    expect(found('')).toBeNull()
  })

  test('identifies an upstream by id and address', () => {
    const first = routing({ a: to('u', 1) })
    expect(routing({ b: to('u', 1) }, first).upstreams.get('u')).toBe(first.upstreams.get('u'))
    expect(routing({ b: to('u', 2) }, first).upstreams.get('u')).not.toBe(first.upstreams.get('u'))
  })

  test('skips invalid entries and reports them', () => {
    const table = routing({ a: to('u', 70_000) }, undefined, { trustedProxies: ['nonsense'] })
    expect(table.warnings).toEqual(['trusted proxy "nonsense" is not an IP address or CIDR range'])
    expect(table.find('a')).toBeUndefined()
    expect([...table.refused]).toEqual([['a', 'upstream u: 70000 is not a valid port']])
  })

  test('keeps the previous entry of a host whose new entry is invalid, and updates every other host', () => {
    const first = routing({ a: to('u'), b: to('v', 1) })
    const broken = { target: null } as unknown as EdgeHost
    const table = routing({ a: broken, b: to('v', 2), c: broken }, first)
    expect(table.find('a')?.upstreams).toEqual(first.find('a')?.upstreams)
    expect(table.find('b')?.upstreams[0]?.port).toBe(2)
    expect(table.find('c')).toBeUndefined()
    expect([...table.refused.keys()]).toEqual(['a', 'c'])
    expect(routing({ a: to('u') }, table).refused.size).toBe(0)
  })

  test('shares one counter between hosts of a project with the same rule', () => {
    const rules = [{ id: 'r', kind: 'rate-limit' as const, enabled: true, config: { requests: 1, windowSeconds: 60 } }]
    const table = routing({ a: { ...to('u'), rules }, b: { ...to('u'), rules } })
    expect(table.find('a')?.rules?.rules[0]).toBe(table.find('b')?.rules?.rules[0])
  })

  test('changed in part equals a new one, and does not modify the previous one', () => {
    const before: EdgeTable = { version: 1, hosts: { 'a.test': to('a'), 'b.test': to('b') } }
    const after: EdgeTable = { version: 2, hosts: { 'b.test': to('b', 9), 'c.test': to('c') } }
    const first = routing(before.hosts)
    const second = new Routing('t2', 't', first, counters)
    for (const piece of changePieces(before, 't', after, 't2')) second.take(piece)
    expect(['a.test', 'b.test', 'c.test'].map((host) => second.find(host)?.upstreams[0]?.port)).toEqual([undefined, 9, 1])
    expect([...second.upstreams.keys()]).toEqual(['b', 'c'])
    expect(['a.test', 'b.test', 'c.test'].map((host) => first.find(host)?.upstreams[0]?.port)).toEqual([1, 1, undefined])
    expect(() => new Routing('t3', 'never seen', second, counters)).toThrow('unknown base')
  })
})
