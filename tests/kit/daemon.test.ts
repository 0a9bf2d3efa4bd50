import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { isAlive, startDaemon } from './daemon.ts'
import { freePort, freePorts } from './free-port.ts'

const node = (script: string) => ({ program: process.execPath, args: ['-e', script] })

describe('a daemon of the kit', () => {
  test('is ready once its output matches', async () => {
    await using daemon = await startDaemon({
      ...node('setTimeout(() => console.log("now"), 50); setInterval(() => {}, 999)'),
      ready: /now/,
    })
    expect(daemon.output()).toBe('now\n')
    expect(daemon.isRunning()).toBe(true)
  })

  test('is ready once its port accepts connections', async () => {
    const port = await freePort()
    await using daemon = await startDaemon({
      ...node(`require('node:net').createServer().listen(${port}, '127.0.0.1')`),
      ready: { port },
    })
    expect(daemon.isRunning()).toBe(true)
  })

  test('that ends before it is ready is an error with its last output', async () => {
    const start = startDaemon({ ...node('console.error("no disk"); process.exit(3)'), ready: /never/ })
    await expect(start).rejects.toThrow(/ended before it served \(3\)[\s\S]*no disk/)
  })

  test('that does not exist is an error', async () => {
    await expect(startDaemon({ program: '/nowhere/at-all', args: [], ready: /x/ })).rejects.toThrow(/ENOENT/)
  })

  test('that is not ready in time is ended', async () => {
    const start = startDaemon({
      ...node('console.log(process.pid); setInterval(() => {}, 999)'),
      ready: /never/,
      readyWithinMs: 400,
    })
    const message = await start.then(
      () => '',
      (error: Error) => error.message,
    )
    expect(message).toMatch(/did not serve within 400 ms/)
    expect(isAlive(Number(/^(\d+)$/m.exec(message)?.[1]))).toBe(false)
  })

  test('that ignores SIGTERM is killed with its child processes', async () => {
    const script = `process.on('SIGTERM', () => {})
      const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 999)'])
      console.log('child ' + child.pid + ' up'); setInterval(() => {}, 999)`
    const daemon = await startDaemon({ ...node(script), ready: /up/ })
    const child = Number(/child (\d+)/.exec(daemon.output())?.[1])
    await daemon.stop(200)
    expect(await daemon.ended()).toEqual({ code: null, signal: 'SIGKILL' })
    for (let tries = 0; tries < 100 && isAlive(child); tries++) await pause(20)
    expect(isAlive(child)).toBe(false)
  })
})

test('free ports of one call are distinct', async () => {
  const ports = await freePorts(20)
  expect(new Set(ports).size).toBe(20)
})
