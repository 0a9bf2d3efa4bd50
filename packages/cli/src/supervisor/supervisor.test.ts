import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { StopSignal } from './messages.ts'
import { Supervisor } from './supervisor.ts'

/** Reports as its arguments say, records the orders that it receives, and exits on a signal. */
const program = `
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
const [file, ...words] = process.argv.slice(2)
const role = process.env.BERTH_ROLE
const note = (text) => appendFileSync(file, role + ' ' + text + '\\n')
note('pid ' + process.pid)
process.on('disconnect', () => process.exit(9))
process.on('message', (order, socket) => {
  note(order)
  if (order === 'open' && words[1] === 'listen') {
    const server = createServer((_, response) => response.end('from ' + process.pid))
    server.listen(socket ?? { host: '127.0.0.1', port: 0 }, () => {
      note('port ' + server.address().port)
      if (!socket) process.send('listening', server._handle)
    })
  }
  if (order === 'open') process.send('started')
  if (order.startsWith('SIG') || order === 'abandon' || order === 'release') process.disconnect(), process.exit(Number(words[1]) || 0)
})
for (const word of words[0].split(',')) {
  if (word === 'fail') process.exit(3)
  process.send(word)
  if (word === 'over') setTimeout(() => process.exit(1), 50)
}
`

let folder: string
let file: string
const running: { supervisor: Supervisor; ended: Promise<unknown> }[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-supervisor-'))
  file = join(folder, 'notes')
  writeFileSync(file, '')
  writeFileSync(join(folder, 'program.mjs'), program)
})
afterEach(async () => {
  for (const { supervisor, ended } of running.splice(0)) {
    supervisor.stop('SIGINT')
    await ended
  }
  rmSync(folder, { recursive: true, force: true })
})

const notes = () => readFileSync(file, 'utf8').split('\n').filter(Boolean)
const has = (text: string) => expect.poll(notes, { timeout: 20_000 }).toContain(text)
const pidsOf = (role: string) =>
  notes().flatMap((line) => (line.startsWith(`${role} pid `) ? [Number(line.slice(role.length + 5))] : []))

function start(worker: string[], api = ['']) {
  const log: string[] = []
  const left: StopSignal[] = []
  const { promise: ended, resolve } = Promise.withResolvers<{ code: number; signal: StopSignal | undefined }>()
  const programOf = (words: string[]) => ({
    node: process.execPath,
    args: [join(folder, 'program.mjs'), file, ...words],
    env: {},
  })
  const programs = { worker: programOf(worker), api: programOf(api) }
  const supervisor = new Supervisor({
    programs,
    log: (message) => log.push(message),
    end: (code, signal) => resolve({ code, signal }),
    stopLeftRunning: (signal) => left.push(signal),
  })
  supervisor.start()
  running.push({ supervisor, ended })
  const programsOf = (otherWorker: string[]) => ({ worker: programOf(otherWorker), api: programOf(['']) })
  return { supervisor, ended, log, left, programsOf }
}

test('the API process starts once the database is open; a stop ends it before the worker, with the worker’s exit code', async () => {
  const { supervisor, ended } = start(['database,started', '5'])
  await has('worker ready')
  supervisor.stop('SIGTERM')
  expect(await ended).toEqual({ code: 5, signal: undefined })
  const told = notes().filter((line) => !line.includes(' pid '))
  expect(told).toEqual(['api open', 'worker ready', 'api SIGTERM', 'worker SIGTERM'])
})

test.each(['worker', 'api'] as const)('a killed %s is restarted, and the other process keeps running', async (role) => {
  const { log } = start(['database,started'])
  await has('worker ready')
  const other = role === 'worker' ? 'api' : 'worker'
  const [[pid], [otherPid]] = [pidsOf(role), pidsOf(other)]
  process.kill(pid!, 'SIGKILL')
  await expect.poll(() => log.length, { timeout: 20_000 }).toBeGreaterThan(0)
  expect(log[0]).toMatch(/has ended \(SIGKILL\) and is started again/)
  await expect.poll(() => pidsOf(role).length, { timeout: 20_000 }).toBe(2)
  expect(pidsOf(other)).toEqual([otherPid])
  expect(notes().filter((line) => line === 'worker ready')).toHaveLength(1)
})

test('connections made during a restart of the API process wait for it; after the instance stops they are refused', async () => {
  const { supervisor, ended } = start(['database,started'], ['', 'listen'])
  const ports = () => notes().flatMap((line) => (line.startsWith('api port ') ? [Number(line.slice(9))] : []))
  await expect.poll(ports, { timeout: 20_000 }).toHaveLength(1)
  await has('worker ready')
  const [pid] = pidsOf('api')
  process.kill(pid!, 'SIGKILL')
  await expect.poll(() => isAlive(pid!), { timeout: 20_000 }).toBe(false)
  const answer = await fetch(`http://127.0.0.1:${ports()[0]}`).then((response) => response.text())
  expect(answer).toBe(`from ${pidsOf('api')[1]}`)
  expect(ports()).toEqual([ports()[0], ports()[0]])
  supervisor.stop('SIGINT')
  await ended
  await expect(fetch(`http://127.0.0.1:${ports()[0]}`)).rejects.toThrow()
})

test('pauses before each restart of a failing worker grow', async () => {
  const { log } = start(['database,started'])
  await has('worker ready')
  for (let kill = 1; kill <= 3; kill++) {
    process.kill(pidsOf('worker').at(-1)!, 'SIGKILL')
    await expect.poll(() => pidsOf('worker').length, { timeout: 20_000 }).toBe(kill + 1)
  }
  const pauses = log.flatMap((line) => /in ([\d.]+) s$/.exec(line)?.[1] ?? [])
  expect(pauses).toEqual(['0.25', '0.5', '1'])
})

test('a failed start ends with the exit code of the failed process', async () => {
  expect((await start(['fail']).ended).code).toBe(3)
  expect((await start(['database,started'], ['fail']).ended).code).toBe(3)
  expect(notes()).toContain('worker abandon')
})

test('a worker that reports itself as over is not restarted', async () => {
  const { ended } = start(['database,started,over'])
  expect((await ended).code).toBe(1)
  expect(pidsOf('worker')).toHaveLength(1)
  expect(notes()).toContain('api SIGTERM')
})

test('a stop while no worker runs makes berth down stop the processes that the worker left', async () => {
  const { supervisor, ended, left } = start(['database,started'])
  await has('worker ready')
  for (let kill = 1; kill <= 3; kill++) {
    process.kill(pidsOf('worker').at(-1)!, 'SIGKILL')
    if (kill < 3) await expect.poll(() => pidsOf('worker').length, { timeout: 20_000 }).toBe(kill + 1)
  }
  await expect.poll(() => isAlive(pidsOf('worker').at(-1)!), { timeout: 20_000 }).toBe(false)
  supervisor.stop('SIGINT')
  expect((await ended).code).toBe(0)
  expect(left).toEqual(['SIGINT'])
})

test('a release ends both processes and keeps what they left running; other programs can be started in their place', async () => {
  const { supervisor, left, programsOf } = start(['database,started'])
  await has('worker ready')
  await supervisor.release()
  const [worker, api] = [pidsOf('worker'), pidsOf('api')].map((pids) => pids[0]!)
  expect([worker, api].map((pid) => isAlive(pid!))).toEqual([false, false])
  expect(notes().filter((line) => line.endsWith('release') || line.endsWith('SIGTERM'))).toEqual([
    'api SIGTERM',
    'worker release',
  ])
  await supervisor.startReleased(programsOf(['database,started']), 60_000)
  supervisor.resume()
  expect(pidsOf('worker')).toHaveLength(2)
  // They are supervised like the first ones.
  process.kill(pidsOf('worker').at(-1)!, 'SIGKILL')
  await expect.poll(() => pidsOf('worker').length).toBe(3)
  expect(left).toEqual([])
})

test.each([
  ['ends', ['fail'], 60_000, /the worker ended \(exit code 3\) before it had started/],
  ['does not start in time', ['database'], 1_000, /had not started after 1 s/],
])('released programs of which one %s are discarded, and the first ones start again', async (_, words, maxMs, message) => {
  const { supervisor, programsOf, log } = start(['database,started'])
  await has('worker ready')
  await supervisor.release()
  await expect(supervisor.startReleased(programsOf(words), maxMs)).rejects.toThrow(message)
  await supervisor.release()
  supervisor.resume(programsOf(['database,started']))
  await expect.poll(() => log).toContain('the worker runs again')
  expect(pidsOf('worker').slice(0, -1).filter(isAlive)).toEqual([])
})

test('a stop during an upgrade takes effect once the upgrade has been reverted', async () => {
  const { supervisor, programsOf, left, ended } = start(['database,started'])
  await has('worker ready')
  await supervisor.release()
  supervisor.stop('SIGINT')
  expect(supervisor.isStopping).toBe(true)
  supervisor.resume(programsOf(['database,started']))
  expect(await ended).toEqual({ code: 0, signal: undefined })
  expect(left).toEqual(['SIGINT'])
  expect(pidsOf('worker')).toHaveLength(1)
})

test('release is refused while the instance starts or stops', async () => {
  const { supervisor, ended } = start(['database,started'])
  await expect(supervisor.release()).rejects.toThrow('starting or stopping')
  await has('worker ready')
  supervisor.stop('SIGTERM')
  await expect(supervisor.release()).rejects.toThrow('starting or stopping')
  await ended
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
