import { describe, expect, test } from 'vitest'
import { Failure } from '../../../platform/failure.ts'
import { checkRuleConfig, type RuleKind } from './rule-config.ts'

describe('the config of a rule', () => {
  test.each([
    ['rate-limit', { requests: 10, windowSeconds: 60 }],
    ['rate-limit', { requests: 10, windowSeconds: 60, burst: 0, status: 503 }],
    ['ban', { ips: ['203.0.113.7', '2001:db8::/32'] }],
    ['ban', { userAgents: ['badbot'] }],
    ['allow-deny', { allow: ['10.0.0.0/8'], deny: ['10.1.0.0/16'], methods: ['GET'] }],
    ['allow-deny', { methods: ['POST'] }],
  ] satisfies [RuleKind, object][])('%s %j', (kind, config) => {
    expect(checkRuleConfig(kind, config)).toEqual(config)
  })

  test('white space around an entry is removed, and methods are upper-cased', () => {
    expect(checkRuleConfig('allow-deny', { deny: [' 10.0.0.1 '], methods: ['get'] })).toEqual({
      deny: ['10.0.0.1'],
      methods: ['GET'],
    })
  })
})

describe('invalid fields are refused by name', () => {
  test.each([
    ['rate-limit', {}, 'config.requests'],
    ['rate-limit', { requests: 1 }, 'config.windowSeconds'],
    ['rate-limit', { requests: 0, windowSeconds: 1 }, 'config.requests'],
    ['rate-limit', { requests: 1.5, windowSeconds: 1 }, 'config.requests'],
    ['rate-limit', { requests: '1', windowSeconds: 1 }, 'config.requests'],
    ['rate-limit', { requests: 1, windowSeconds: 0 }, 'config.windowSeconds'],
    ['rate-limit', { requests: 1, windowSeconds: 1, burst: -1 }, 'config.burst'],
    ['rate-limit', { requests: 1, windowSeconds: 1, status: 200 }, 'config.status'],
    ['rate-limit', { requests: 1, windowSeconds: 1, ips: ['203.0.113.7'] }, 'config.ips'],
    ['ban', {}, 'config'],
    ['ban', { ips: [] }, 'config.ips'],
    ['ban', { ips: '203.0.113.7' }, 'config.ips'],
    ['ban', { ips: ['203.0.113.7', '203.0.113.300'] }, 'config.ips.1'],
    ['ban', { ips: ['203.0.113.0/33'] }, 'config.ips.0'],
    ['ban', { ips: ['2001:db8::/129'] }, 'config.ips.0'],
    ['ban', { ips: ['example.org'] }, 'config.ips.0'],
    ['ban', { ips: [7] }, 'config.ips.0'],
    ['ban', { userAgents: ['ok', ' '] }, 'config.userAgents.1'],
    ['ban', { constructor: 1 }, 'config.constructor'],
    ['allow-deny', {}, 'config'],
    ['allow-deny', { allow: ['10.0.0.0/8', 'x'] }, 'config.allow.1'],
    ['allow-deny', { methods: ['GET POST'] }, 'config.methods.0'],
  ] satisfies [RuleKind, object, string][])('%s %j: %s', (kind, config, field) => {
    let failure: unknown
    try {
      checkRuleConfig(kind, config as Record<string, unknown>)
    } catch (error) {
      failure = error
    }
    expect(failure).toBeInstanceOf(Failure)
    expect((failure as Failure).options.field).toBe(field)
  })
})
