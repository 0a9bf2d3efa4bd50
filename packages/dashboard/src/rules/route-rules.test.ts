import { expect, test } from 'vitest'
import { hitText, ruleBody, ruleText } from './route-rules.ts'

const base = { pathPrefix: null, hostname: null }

test('a rule is shown as a sentence', () => {
  expect(ruleText({ ...base, kind: 'rate-limit', config: { requests: 20, windowSeconds: 60 }, pathPrefix: '/login' })).toBe(
    'At most 20 requests per address in 60 seconds below /login',
  )
  expect(ruleText({ ...base, kind: 'ban', config: { ips: ['203.0.113.0/24'] } })).toBe('Block 203.0.113.0/24')
  expect(ruleText({ ...base, kind: 'allow-deny', config: { allow: ['10.0.0.0/8'] } })).toBe('Allow only 10.0.0.0/8')
})

test('a dry run has blocked no requests', () => {
  expect(hitText({ hits: 1200, dryRun: true })).toBe('would have blocked 1,200')
  expect(hitText({ hits: 3, dryRun: false })).toBe('3 blocked')
})

test('the form becomes the body of its kind', () => {
  const form = {
    pathPrefix: '',
    requests: 5,
    windowSeconds: 10,
    addresses: '1.2.3.4, 5.6.7.0/24\n',
    allow: '',
    deny: '9.9.9.9',
    dryRun: true,
  }
  expect(ruleBody({ ...form, kind: 'ban' })).toEqual({ kind: 'ban', dryRun: true, config: { ips: ['1.2.3.4', '5.6.7.0/24'] } })
  expect(ruleBody({ ...form, kind: 'allow-deny' }).config).toEqual({ deny: ['9.9.9.9'] })
  expect(ruleBody({ ...form, kind: 'rate-limit' }).config).toEqual({ requests: 5, windowSeconds: 10 })
})
