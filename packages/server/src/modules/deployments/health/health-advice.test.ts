import { describe, expect, test } from 'vitest'
import { adviceFor } from './health-advice.ts'
import { listenersIn } from './listening-inside.ts'

const heading = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'
const row = (local: string, state = '0A') =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000 0 0 1 1\n`

describe('the listening addresses of a program in a container', () => {
  test("are read from the kernel's table: only listening sockets, without the name server of the engine", () => {
    const table = `${heading}${row('0100007F:0BB8')}${row('0B00007F:A001')}${row('0200AC12:0BB8', '01')}${heading}${row('00000000000000000000000000000000:1F90')}`
    expect(listenersIn(table)).toEqual([
      { port: 3000, isLoopback: true },
      { port: 8080, isLoopback: false },
    ])
  })

  test.each(['0100007F', '00000000000000000000000001000000', '0000000000000000FFFF00000100007F'])('%s is loopback', (address) => {
    expect(listenersIn(row(`${address}:0050`))).toEqual([{ port: 80, isLoopback: true }])
  })

  test('a port open on both loopback and other addresses counts as open, in either order', () => {
    const open = [{ port: 80, isLoopback: false }]
    expect(listenersIn(row('0100007F:0050') + row('00000000:0050'))).toEqual(open)
    expect(listenersIn(row('00000000:0050') + row('0100007F:0050'))).toEqual(open)
  })

  test('are empty if the table is invalid', () => {
    expect(listenersIn(`hello\n${row('zz:zz')}${row('0100007F:-1')}`)).toEqual([])
  })
})

describe('advice for an unhealthy instance', () => {
  const requested = { port: 3000, status: null, check: null, listening: null }

  test('bound to 127.0.0.1 in a container: listen on 0.0.0.0', () => {
    expect(adviceFor({ ...requested, listening: [{ port: 3000, isLoopback: true }] })).toMatch(/127\.0\.0\.1:3000 .*0\.0\.0\.0/)
  })

  test('another port: names it, and that the port can be set', () => {
    expect(adviceFor({ ...requested, listening: [{ port: 8080, isLoopback: false }] })).toMatch(
      /8080, not on 3000: set the port to 8080/,
    )
    expect(adviceFor({ ...requested, listening: [{ port: 8080, isLoopback: true }] })).toMatch(
      /127\.0\.0\.1:8080.*0\.0\.0\.0 and \$PORT/,
    )
  })

  test('no answer yet: raise healthCheck.timeoutSeconds', () => {
    const words = /healthCheck\.timeoutSeconds/
    expect(adviceFor(requested)).toMatch(words)
    expect(adviceFor({ ...requested, listening: [] })).toMatch(words)
    expect(adviceFor({ ...requested, listening: [{ port: 3000, isLoopback: false }] })).toMatch(words)
  })

  test('an error of the first page: set healthCheck.path; an error of a path that was set: no advice', () => {
    expect(adviceFor({ ...requested, status: 503 })).toMatch(
      /healthCheck\.path .* healthCheck\.acceptErrors .*berth\.json .*dashboard/,
    )
    expect(adviceFor({ ...requested, status: 503, check: { path: '/ready' } })).toBe('')
  })
})
