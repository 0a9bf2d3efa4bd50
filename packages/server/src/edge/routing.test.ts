import { describe, expect, test } from 'vitest'
import type { EdgeHost, EdgeTable } from '../drivers/edge/edge-table.ts'
import { Routing } from './routing.ts'
import { Tallies } from './tallies.ts'

const to = (id: string, port = 1): EdgeHost => ({
  target: { kind: 'upstreams', projectId: `p-${id}`, deploymentId: `d-${id}`, upstreams: [{ id, host: '127.0.0.1', port }] },
})
const routing = (hosts: EdgeTable['hosts'], previous?: Routing, rest: Partial<EdgeTable> = {}) =>
  new Routing({ version: 1, hosts, ...rest }, previous, new Tallies())

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

  test('knows an upstream again by id and address, and takes another address for another upstream', () => {
    const first = routing({ a: to('u', 1) })
    expect(routing({ b: to('u', 1) }, first).upstreams.get('u')).toBe(first.upstreams.get('u'))
    expect(routing({ b: to('u', 2) }, first).upstreams.get('u')).not.toBe(first.upstreams.get('u'))
  })

  test('leaves out what cannot be used and names it', () => {
    const table = routing({ a: to('u', 70_000) }, undefined, { trustedProxies: ['nonsense'] })
    expect(table.warnings).toEqual(['trusted proxy "nonsense" is neither an address nor a CIDR', 'upstream u: 70000 is no port'])
    expect(table.find('a')?.balance?.choose(undefined, 0)).toBeUndefined()
  })

  test('gives the hosts of a project one count for a rule they share', () => {
    const rules = [{ id: 'r', kind: 'rate-limit' as const, enabled: true, config: { requests: 1, windowSeconds: 60 } }]
    const table = routing({ a: { ...to('u'), rules }, b: { ...to('u'), rules } })
    expect(table.find('a')?.rules?.rules[0]).toBe(table.find('b')?.rules?.rules[0])
  })
})
