import { describe, expect, test } from 'vitest'
import { describeProbe } from './describe-probe.ts'

const unit = { port: 3000, exposed: true }
const at = (port: number) => ({ address: { host: '127.0.0.1', port } })
const message = (...args: Parameters<typeof describeProbe>) =>
  Object.values(describeProbe(...args))
    .filter(Boolean)
    .join('. ')

describe('the request named by a failed health check', () => {
  test('is the port that was asked, and what does listen', () => {
    const output = message({ ...at(41234), listensOn: ['[::1]:3000'] }, unit, null, null)
    expect(output).toBe(
      'GET / on port 41234. It listens on [::1]:3000: let it listen on 0.0.0.0, on the port in the variable PORT',
    )
    expect(message({ ...at(41234), listensOn: [] }, unit, { path: '/up' }, null)).toContain(
      'GET /up on port 41234. It listens on no port',
    )
  })

  test('is the port inside where there are containers', () => {
    expect(message(at(32000), unit, null, null)).toBe('GET / on port 3000')
    expect(message(at(32000), { port: 6379, exposed: false }, null, null)).toBe('a connection on port 6379')
  })

  test('is the page where there was an answer', () => {
    expect(message({ ...at(41234), listensOn: ['127.0.0.1:41234'] }, unit, { path: '/ready' }, 500)).toBe('GET /ready')
    expect(message({ ...at(41234), listensOn: [] }, unit, null, 500)).toBe('GET /')
  })

  test('is only the port where something of it listens and does not answer', () => {
    expect(message({ ...at(41234), listensOn: ['127.0.0.1:41234'] }, unit, null, null)).toBe('GET / on port 41234')
  })
})
