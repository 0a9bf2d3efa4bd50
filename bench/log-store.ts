// Compares the log store with plain files: appends and reads the same bytes in the same run. Searches are also compared by CPU time,
// which depends less on other load on the machine.
// Run: npx node bench/log-store.ts [lines, default 1000000]
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogStore } from '../packages/server/src/platform/log-store/log-store.ts'

const total = Number(process.argv[2] ?? 1_000_000)
const batch = 100
const folder = mkdtempSync(join(tmpdir(), 'berth-bench-log-store-'))
const settings = { folder: join(folder, 'store'), maxBytesPerProject: 1024 * 1024 * 1024 }
const megabytes = (bytes: number) => Number((bytes / 1024 / 1024).toFixed(1))

try {
  const appended = await appendLines()
  const tail = await tailAfterOpening(200)
  const search = await searchAll('in no line at all', 0)
  const rare = await searchAll('ITEMS?page=7 answered 200 in 7 ms', Number.POSITIVE_INFINITY)
  const plain = await plainFile()
  print(appended, tail, { search, rare }, plain)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function messageOf(number: number): string {
  return `GET /api/projects/${number % 977}/items?page=${number % 31} answered 200 in ${(number * 7) % 250} ms, request ${(number * 2_654_435_761) % 4_294_967_296}`
}

function entriesFrom(first: number) {
  return Array.from({ length: batch }, (_, at) => ({
    time: 1_767_225_600_000 + first + at,
    stream: 'stdout' as const,
    service: 'web',
    deploymentId: 'dep_bench',
    message: messageOf(first + at),
  }))
}

async function appendLines() {
  const store = createLogStore(settings)
  const memory: number[] = []
  const start = performance.now()
  for (let at = 0; at < total; at += batch) {
    await store.append('prj_bench', 'runtime', entriesFrom(at))
    if ((at + batch) % (total / 10) === 0) memory.push(process.memoryUsage().rss)
  }
  await store.close()
  const ms = performance.now() - start
  const line = JSON.stringify({ id: '0'.repeat(16), ...entriesFrom(0)[0], time: new Date().toISOString() }).length + 1
  return { ms, bytes: total * line, memory, onDisk: bytesBelow(join(settings.folder, 'prj_bench')) }
}

async function tailAfterOpening(limit: number) {
  const times: number[] = []
  for (let round = 0; round < 5; round++) {
    const start = performance.now()
    const store = createLogStore(settings)
    const entries = await store.tail('prj_bench', 'runtime', { limit })
    times.push(performance.now() - start)
    await store.close()
    const expected = Array.from({ length: limit }, (_, at) => messageOf(total - limit + at))
    if (entries.map(({ message }) => message).join() !== expected.join()) throw new Error('the tail is not the last lines')
  }
  return { firstMs: times[0]!, bestMs: Math.min(...times) }
}

/** The best of three searches through all lines, each by a store that was just opened. */
async function searchAll(q: string, limit: number) {
  let best = { ms: Number.POSITIVE_INFINITY, cpuMs: Number.POSITIVE_INFINITY }
  const expected = Array.from({ length: total }, (_, at) => messageOf(at)).filter(
    (message) => limit > 0 && message.includes(q.toLowerCase()),
  )
  for (let round = 0; round < 3; round++) {
    const store = createLogStore(settings)
    const cost = await costOf(async () => {
      const found = await store.tail('prj_bench', 'runtime', { limit: Math.max(limit, 10), filter: { q } })
      if (found.map(({ message }) => message).join() !== expected.join())
        throw new Error(`the search found ${found.length} lines`)
    })
    best = { ms: Math.min(best.ms, cost.ms), cpuMs: Math.min(best.cpuMs, cost.cpuMs) }
    await store.close()
  }
  return best
}

async function costOf(work: () => unknown): Promise<{ ms: number; cpuMs: number }> {
  const [begun, cpu] = [performance.now(), process.cpuUsage()]
  await work()
  const { user, system } = process.cpuUsage(cpu)
  return { ms: performance.now() - begun, cpuMs: (user + system) / 1000 }
}

/** Writes the same lines as JSON, with one write per batch and without ids, index, compression or size limit. */
async function plainFile() {
  const path = join(folder, 'plain')
  const start = performance.now()
  const file = openSync(path, 'a')
  for (let at = 0; at < total; at += batch) {
    const lines = entriesFrom(at).map((entry) => JSON.stringify({ id: at, ...entry, time: new Date(entry.time).toISOString() }))
    writeSync(file, `${lines.join('\n')}\n`)
  }
  closeSync(file)
  const appendMs = performance.now() - start
  const reads = [
    await costOf(() => readFileSync(path)),
    await costOf(() => readFileSync(path)),
    await costOf(() => readFileSync(path)),
  ]
  return { appendMs, readMs: Math.min(...reads.map(({ ms }) => ms)), readCpuMs: Math.min(...reads.map(({ cpuMs }) => cpuMs)) }
}

function bytesBelow(path: string): number {
  if (!statSync(path).isDirectory()) return statSync(path).size
  return readdirSync(path).reduce((sum, name) => sum + bytesBelow(join(path, name)), 0)
}

function print(
  appended: Awaited<ReturnType<typeof appendLines>>,
  tail: Awaited<ReturnType<typeof tailAfterOpening>>,
  searches: Record<'search' | 'rare', Awaited<ReturnType<typeof searchAll>>>,
  plain: Awaited<ReturnType<typeof plainFile>>,
) {
  const searchRow = ({ ms, cpuMs }: { ms: number; cpuMs: number }) => ({
    ms: Math.round(ms),
    'times a plain read': (ms / plain.readMs).toFixed(1),
    'in processor time': (cpuMs / plain.readCpuMs).toFixed(1),
  })
  console.table({
    'append all lines': { ms: Math.round(appended.ms), 'times a plain append': (appended.ms / plain.appendMs).toFixed(1) },
    'tail of 200 from opening, first': {
      ms: tail.firstMs.toFixed(1),
      'times a plain read': (tail.firstMs / plain.readMs).toFixed(3),
    },
    'tail of 200 from opening, best of 5': {
      ms: tail.bestMs.toFixed(1),
      'times a plain read': (tail.bestMs / plain.readMs).toFixed(3),
    },
    'search through all for a text in no line': searchRow(searches.search),
    'search through all for a text in some lines': searchRow(searches.rare),
    'plain append of the same lines': { ms: Math.round(plain.appendMs) },
    'plain read of the same lines': { ms: Math.round(plain.readMs) },
  })
  const share = appended.onDisk / appended.bytes
  console.log(
    `${total} lines, ${megabytes(appended.bytes)} MB; on disk ${megabytes(appended.onDisk)} MB, ${share.toFixed(2)} of the lines`,
  )
  console.log(`lines a second: ${Math.round((total / appended.ms) * 1000)}`)
  const grown = Math.max(...appended.memory.slice(3)) - appended.memory[2]!
  console.log(`resident memory after each tenth: ${appended.memory.map((bytes) => Math.round(megabytes(bytes))).join(' ')} MB`)
  console.log(
    `grown after the third tenth by ${megabytes(grown)} MB, ${(grown / (appended.bytes * 0.7)).toFixed(2)} of the bytes appended since`,
  )
}
