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

  test.each([
    ['2026-01-01 10:22:05 Error: listen EADDRINUSE: address already in use :::3000', 3000],
    ['2026-01-01T10:22:25.080Z [25] address already in use 0.0.0.0:3000', 3000],
    ['2026/01/01 10:22:53 main.go:22: listen tcp :8080: bind: address already in use', 8080],
    ["[22] [ERROR] Connection in use: ('0.0.0.0', 8000)", 8000],
    ['nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)', 80],
    ['listen EADDRINUSE: address already in use ::1:3000\n    at listen (/app/server.js:22:25)', 3000],
    ['10:22:05 listen EADDRINUSE: address already in use :::4321', null],
    ['[01.01.2026 10:22] listen EADDRINUSE: address already in use :::4321', null],
  ])('is not part of a time, a process id or a line number: %j', (output, port) => {
    const isListening = (candidate: number) => isTaken(candidate) || [22, 25, 53, 80, 98, 2026].includes(candidate)
    expect(takenPortIn(output, null, isListening)).toBe(port)
  })

  test('without a number in the message, is the nearest one before it', () => {
    const output = 'database at localhost:5000\nlistening on port 3000\none\ntwo\nEADDRINUSE\none\ntwo\nsee port 8000'
    expect(takenPortIn(output, null, isTaken)).toBe(3000)
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
