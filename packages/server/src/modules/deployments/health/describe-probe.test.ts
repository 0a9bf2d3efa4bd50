import { describe, expect, test } from 'vitest'
import { describeProbe } from './describe-probe.ts'

const unit = { port: 3000, exposed: true }
const at = (port: number) => ({ address: { host: '127.0.0.1', port } })
const message = (...args: Parameters<typeof describeProbe>) =>
  Object.values(describeProbe(...args))
    .filter(Boolean)
    .join('. ')

describe('the description of a failed health check', () => {
  test('names the requested port and the ports that the program listens on', () => {
    const output = message({ ...at(41234), listensOn: ['[::1]:3000'] }, unit, null, null)
    expect(output).toBe(
      'GET / on port 41234. It listens on [::1]:3000: let it listen on 0.0.0.0, on the port in the variable PORT',
    )
    expect(message({ ...at(41234), listensOn: [] }, unit, { path: '/up' }, null)).toContain(
      'GET /up on port 41234. It listens on no port',
    )
  })

  test('names the port inside the container', () => {
    expect(message(at(32000), unit, null, null)).toBe('GET / on port 3000')
    expect(message(at(32000), { port: 6379, exposed: false }, null, null)).toBe('a connection on port 6379')
  })

  test('names the path if there was an answer', () => {
    expect(message({ ...at(41234), listensOn: ['127.0.0.1:41234'] }, unit, { path: '/ready' }, 500)).toBe('GET /ready')
    expect(message({ ...at(41234), listensOn: [] }, unit, null, 500)).toBe('GET /')
  })

  test('names only the port if the program listens on it without answering', () => {
    expect(message({ ...at(41234), listensOn: ['127.0.0.1:41234'] }, unit, null, null)).toBe('GET / on port 41234')
  })
})
