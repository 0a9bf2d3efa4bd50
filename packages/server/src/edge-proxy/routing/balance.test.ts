import { describe, expect, test } from 'vitest'
import { Balance } from './balance.ts'
import { Upstream } from './upstream.ts'

const upstream = (id: string) => new Upstream({ id, host: '127.0.0.1', port: 1 })

describe('load balancing', () => {
  test('distributes requests evenly by weight', () => {
    const [a, b] = [upstream('a'), upstream('b')]
    const balance = new Balance([
      { upstream: a, weight: 3 },
      { upstream: b, weight: 1 },
    ])
    const turns = Array.from({ length: 8 }, () => balance.choose(undefined, 0)!.id)
    expect(turns.filter((id) => id === 'a')).toHaveLength(6)
    expect(turns.join('')).not.toContain('aaaa')
  })

  test('sends no request to a weight of 0', () => {
    const balance = new Balance([
      { upstream: upstream('a'), weight: 0 },
      { upstream: upstream('b'), weight: 1 },
    ])
    expect([1, 2, 3].map(() => balance.choose(undefined, 0)!.id)).toEqual(['b', 'b', 'b'])
  })

  test('tries upstreams that refused recently last, and none twice', () => {
    const [a, b] = [upstream('a'), upstream('b')]
    a.avoidUntil = 100
    const balance = new Balance([
      { upstream: a, weight: 1 },
      { upstream: b, weight: 1 },
    ])
    expect([1, 2, 3].map(() => balance.choose(undefined, 50)!.id)).toEqual(['b', 'b', 'b'])
    expect(balance.choose(new Set([b]), 50)?.id).toBe('a')
    expect(balance.choose(new Set([a, b]), 50)).toBeUndefined()
  })
})
