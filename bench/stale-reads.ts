import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openDatabase } from '../packages/server/src/platform/database.ts'

/**
 * node bench/stale-reads.ts [--operations=20000] [--seed=1] [--url=postgres://…/empty]: two processes read and write the same
 * rows of one database at random, all at once. Fails if a read returns a value older than a commit that was acknowledged, in either
 * process, before the read was sent.
 */
const { values } = parseArgs({
  options: {
    operations: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    url: { type: 'string' },
  },
})
const keys = 12
const concurrency = 16
const folder = await mkdtemp(join(tmpdir(), 'berth-stale-reads-'))
const settings = { folder, ...(values.url ? { url: values.url } : {}) }
let state = Number(values.seed)
/** A linear congruential generator: the same seed gives the same sequence. */
const random = (below: number) => {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
  return Math.floor((state / 2_147_483_648) * below)
}

// Migrates before the processes open it.
const database = await openDatabase(settings)
const used = await database.db.selectFrom('announcedOnce').select('key').executeTakeFirst()
await database.close()
// Values of an earlier run are newer than every write of this one: no read could be found stale.
if (used) throw new Error('The database was used before, so stale reads would not be found. Give an empty one with --url.')
const program = join(import.meta.dirname, 'kit', 'stale-reads-process.ts')
const children = [0, 1].map(() => fork(program, [JSON.stringify(settings)]))
await Promise.all(children.map((child) => once(child, 'message')))
let lastId = 0
const waiting = new Map<number, (value: number) => void>()
for (const child of children)
  child.on('message', ({ id, value }: { id: number; value: number }) => {
    waiting.get(id)?.(value)
    waiting.delete(id)
  })
const call = (process: number, message: object) =>
  new Promise<number>((resolve) => {
    lastId += 1
    waiting.set(lastId, resolve)
    children[process]!.send({ id: lastId, ...message })
  })

/** The newest value of each key whose commit is acknowledged. */
const committed = Array.from({ length: keys }, () => 0)
let next = 0
let [reads, writes, stale] = [0, 0, 0]
async function operate(): Promise<void> {
  const key = random(keys)
  const process = random(2)
  if (random(4) === 0) {
    next += 1
    const value = next
    await call(process, { write: key, value })
    committed[key] = Math.max(committed[key]!, value)
    writes += 1
    return
  }
  const atLeast = committed[key]!
  const found = await call(process, { read: key, asPage: random(3) === 0 })
  reads += 1
  if (found >= atLeast) return
  stale += 1
  console.error(`process ${process} read ${found} of key ${key}; ${atLeast} was committed before`)
}

const total = Number(values.operations)
let begun = 0
await Promise.all(
  Array.from({ length: concurrency }, async () => {
    while (begun < total) {
      begun += 1
      await operate()
    }
  }),
)
for (const child of children) child.disconnect()
await Promise.all(children.map((child) => once(child, 'exit')))
await rm(folder, { recursive: true, force: true })
console.log(`seed ${values.seed}, ${values.url ? 'PostgreSQL' : 'SQLite'}: ${reads} reads, ${writes} writes, ${stale} stale`)
process.exitCode = stale === 0 ? 0 : 1
