import { describe, expect, test } from 'vitest'
import { takenPortIn } from './taken-port.ts'

const isTaken = (port: number) => [3000, 5000, 8000, 8080, 9292].includes(port)

describe('the unavailable port of a program, from its last lines of output', () => {
  test.each([
    [
      'Error: listen EADDRINUSE: address already in use :::3000\n    at Server.setupListenHandle (node:net:1940:16)\n  errno: -98,\n  port: 3000\n}',
      3000,
    ],
    ['listening soon\nlisten tcp :8080: bind: address already in use', 8080],
    ['Address already in use\nPort 5000 is in use by another program. Either identify and stop that program', 5000],
    ["ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use", 8000],
    ["[2026-01-01 10:00:00 +0000] [7] [ERROR] Connection in use: ('0.0.0.0', 8000)", 8000],
    ['error: Failed to start server. Is port 3000 in use?\n syscall: "listen", code: "EADDRINUSE"', 3000],
    ['Address already in use - bind(2) for "127.0.0.1" port 9292 (Errno::EADDRINUSE)', 9292],
    ['Web server failed to start. Port 8080 was already in use.', 8080],
  ])('%j', (output, port) => {
    expect(takenPortIn(output, null, isTaken)).toBe(port)
  })

  test('is the port of the source, else one of the preceding lines', () => {
    const trace =
      "  server = HTTPServer(('127.0.0.1', 8000), Handler)\n    at\n    one\n    two\n    three\nOSError: [Errno 98] Address already in use"
    expect(takenPortIn(trace, 5000, isTaken)).toBe(5000)
    expect(takenPortIn(trace, 4321, isTaken)).toBe(8000)
    expect(takenPortIn('listen EADDRINUSE: address already in use :::4321', 4322, isTaken)).toBeNull()
  })

  test.each([
    ['it ended for another reason', 'Error: connect ECONNREFUSED 127.0.0.1:5432'],
    ['a port that is taken has nothing to do with it', 'connected to 10.0.0.8:8080\n'.repeat(5)],
  ])('is null if %s', (_, output) => {
    expect(takenPortIn(output, 3000, isTaken)).toBeNull()
  })
})
