import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, test } from 'vitest'
import { startTimeOf } from '../process-stat.ts'
import { checkListener } from './listener-check.ts'
import { ListeningSockets } from './listening-sockets.ts'
import { searchBounds, treeHolds } from './process-tree.ts'

/** Opens a number of files, in itself and in a number of child processes, and listens before or after that. */
const program = `
const [files, children, isEarly, isChild] = process.argv.slice(1).map(Number)
const { openSync } = require('node:fs')
const listen = () => new Promise((done) => { const server = require('node:net').createServer().listen(0, '127.0.0.1', () => done(server.address().port)) })
const ready = (port) => isChild ? process.send('ready') : console.log(port)
;(async () => {
  const early = isEarly ? await listen() : 0
  for (let at = 0; at < files; at++) openSync('/dev/null')
  const forks = Array.from({ length: children }, () => require('node:child_process').spawn(process.execPath, ['-e', process.env.PROGRAM, files, 0, 0, 1], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }))
  await Promise.all(forks.map((fork) => new Promise((done) => fork.once('message', done))))
  ready(early || (isChild ? 0 : await listen()))
  setInterval(() => {}, 1e6)
})()
`
const running: ChildProcess[] = []
afterEach(() => {
  for (const child of running.splice(0)) process.kill(-(child.pid as number), 'SIGKILL')
})

async function start({ files = 0, children = 0, isEarly = true } = {}) {
  const args = ['-e', program, files, children, isEarly ? 1 : 0, 0].map(String)
  const child = spawn(process.execPath, args, { env: { PROGRAM: program }, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  running.push(child)
  const [port] = await once(child.stdout as NodeJS.ReadableStream, 'data')
  const pid = child.pid as number
  return { pid, port: Number(port), owner: { pid, startTime: startTimeOf(pid) as string } }
}

async function listenerAt(port: number): Promise<string> {
  const [listener] = await new ListeningSockets().at({ host: '127.0.0.1', port })
  return listener?.inode ?? ''
}

/** How often other work ran meanwhile. */
async function turnsDuring<T>(work: () => Promise<T> | T): Promise<{ result: T; turns: number }> {
  let turns = 0
  let next = setImmediate(function turn() {
    turns += 1
    next = setImmediate(turn)
  })
  const result = await work()
  clearImmediate(next)
  return { result, turns }
}

describe.skipIf(process.platform !== 'linux')('the search for the listening process of a project', () => {
  test('yields to other work, with any number of files and child processes', async () => {
    const { owner } = await start({ files: 900, children: 4 })
    const { result, turns } = await turnsDuring(() => treeHolds(owner, ['1']))
    expect(result).toBe(false)
    // 4,500 open files, 64 at a time.
    expect(turns).toBeGreaterThan(50)
  })

  test('finds the listener of a program with open files and child processes', async () => {
    const { owner, port } = await start({ files: 300, children: 2 })
    const isOwn = (address: { host: string; port: number }) => new Promise((answer) => checkListener(address, owner, answer))
    expect(await isOwn({ host: '127.0.0.1', port })).toBe(true)
    const outsider = await start()
    expect(await isOwn({ host: '127.0.0.1', port: outsider.port })).toBe(false)
  })

  test('reads a limited number of open files, the first ones of each process first', async () => {
    const few = { ...searchBounds, descriptors: 500 }
    const late = await start({ files: 800, isEarly: false })
    const inode = await listenerAt(late.port)
    expect(await treeHolds(late.owner, [inode])).toBe(true)
    expect(await treeHolds(late.owner, [inode], few)).toBe(false)
    const early = await start({ files: 800, children: 1 })
    expect(await treeHolds(early.owner, [await listenerAt(early.port)], few)).toBe(true)
  })
})
