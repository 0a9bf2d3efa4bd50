import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLog } from '../log.ts'
import { socketAddress } from '../socket-path.ts'
import { hubSignals } from './hub-client.ts'
import { signalHub } from './signal-hub.ts'
import { isReread, type Signals } from './signals.ts'

/** Longer than the path of a socket may be. */
const longName = 'a-folder-with-a-long-name'.repeat(5)

let folder: string
let socket: string
const open: Signals[] = []
const opened = <One extends Signals>(one: One): One => {
  open.push(one)
  return one
}
const hub = async () => opened(await signalHub(socket, silentLog))
const client = () => opened(hubSignals(socket, silentLog))

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), `berth-${longName}-`))
  socket = join(folder, 'signals.sock')
})
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The numbers that a process hears on a topic, in order; a request to read again is `reread`. */
function heard(signals: Signals, topic = 'build'): (number | 'reread')[] {
  const all: (number | 'reread')[] = []
  signals.subscribe<{ n: number }>(topic, (event) => all.push(isReread(event) ? 'reread' : event.n))
  return all
}
const numbers = (all: (number | 'reread')[]) => all.filter((one) => one !== 'reread')
const first = (count: number) => Array.from({ length: count }, (_, n) => n)

test('an event of any process reaches the listeners of all of them, once and in order', async () => {
  const [one, other, third] = [await hub(), client(), client()]
  const lists = [one, other, third].map((signals) => heard(signals))
  const [fromOther, fromHub] = [heard(third, 'from other'), heard(other, 'from hub')]
  await expect.poll(() => lists.slice(1).every((all) => all.includes('reread'))).toBe(true)
  for (let n = 0; n < 3_000; n++) third.publish('build', { n })
  other.publish('from other', { n: 1 })
  one.publish('from hub', { n: 2 })
  await expect.poll(() => lists.map((all) => numbers(all).length)).toEqual([3_000, 3_000, 3_000])
  for (const all of lists) expect(numbers(all)).toEqual(first(3_000))
  await expect.poll(() => [numbers(fromOther), numbers(fromHub)]).toEqual([[1], [2]])
})

test('only the owner can open the socket', async () => {
  await hub()
  expect(statSync(socket).mode & 0o777).toBe(0o600)
})

test('a process that starts before the hub sends its events later; one that loses the hub rereads', async () => {
  const early = client()
  const all = heard(early)
  early.publish('jobs', { n: 1 })
  const one = await hub()
  const jobs = heard(one, 'jobs')
  await expect.poll(() => [...jobs]).toEqual([1])
  await expect.poll(() => [...all]).toEqual(['reread'])
  await one.close()
  const next = await hub()
  const later = heard(next, 'jobs')
  await expect.poll(() => [...all]).toEqual(['reread', 'reread'])
  early.publish('jobs', { n: 2 })
  next.publish('build', { n: 3 })
  await expect.poll(() => ({ later, all })).toEqual({ later: [2], all: ['reread', 'reread', 3] })
})

test('when a process ends, the others reread, since it may have died between a commit and its signal', async () => {
  const [one, dying, other] = [await hub(), client(), client()]
  const [atHub, atOther] = [heard(one), heard(other)]
  dying.publish('build', { n: 1 })
  await expect.poll(() => numbers(atHub)).toEqual([1])
  await expect.poll(() => numbers(atOther)).toEqual([1])
  const rereads = atOther.filter((event) => event === 'reread').length
  await dying.close()
  await expect.poll(() => [...atHub]).toEqual([1, 'reread'])
  await expect.poll(() => atOther.filter((event) => event === 'reread').length).toBe(rereads + 1)
})

test('a peer with an invalid or endless frame is disconnected', async () => {
  await hub()
  for (const bytes of ['not JSON\n', 'x'.repeat(100_000)]) {
    const peer = connect(socketAddress(socket))
    peer.on('error', () => undefined)
    peer.write(bytes)
    await new Promise((resolve) => peer.once('close', resolve))
  }
})
