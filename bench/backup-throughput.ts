// Backs up a volume to a local destination and restores it, and compares both with the same work by hand: tar | gzip -1 | age |
// sha256sum, and age -d | gunzip | tar. Run: npx node bench/backup-throughput.ts [MB, default 2048] [rounds, default 2]. Fails below
// 0.7 of the throughput by hand, or above 80 MB of extra memory.
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createWriteStream, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { table } from './kit/table.ts'

const megabytes = Number(process.argv[2] ?? 2048)
const rounds = Number(process.argv[3] ?? 2)
const least = 0.7
const maxExtraMb = 80
const child = fileURLToPath(new URL('kit/backup-round.ts', import.meta.url))
const base = mkdtempSync(join(process.env.BERTH_BENCH_DIR ?? tmpdir(), 'berth-bench-backup-'))
const [volume, key] = [join(base, 'volume'), join(base, 'backup.key')]

interface Round {
  ms: number
  /** CPU time of all threads or programs together, including their start. */
  cpuMs: number
  extraMb: number
  maxBlockMs: number
  writtenMs?: number
  plainBytes: number
  sizeBytes?: number
}

try {
  await fill()
  execFileSync('age-keygen', ['-o', key], { stdio: 'ignore' })
  const recipient = execFileSync('age-keygen', ['-y', key], { encoding: 'utf8' }).trim()
  const times = { backup: [] as Round[], restore: [] as Round[], tarOut: [] as ByHand[], tarIn: [] as ByHand[] }
  for (let round = 0; round < rounds; round += 1) {
    const archive = join(base, 'by-hand.tar.gz.age')
    times.tarOut.push(
      await timed([['tar', '-C', volume, '-c', '.'], ['gzip', '-1'], ['age', '-r', recipient], ['tee', archive], ['sha256sum']]),
    )
    times.backup.push(ours('backup', volume))
    mkdirSync(join(base, 'by-hand'), { recursive: true })
    times.tarIn.push(await timed([['age', '-d', '-i', key, archive], ['gunzip'], ['tar', '-x', '-C', join(base, 'by-hand')]]))
    times.restore.push(ours('restore', join(base, 'restored')))
    if (round === 0) execFileSync('diff', ['-r', volume, join(base, 'restored')])
    for (const name of ['by-hand', 'restored']) rmSync(join(base, name), { recursive: true, force: true })
    if (round < rounds - 1) rmSync(join(base, 'destination'), { recursive: true, force: true })
  }
  print(times)
} finally {
  rmSync(base, { recursive: true, force: true })
}

/** Half text, half incompressible bytes; a few large files and many small ones. */
async function fill(): Promise<void> {
  mkdirSync(join(volume, 'small'), { recursive: true })
  const noise = randomBytes(1024 ** 2)
  const line = (n: number) =>
    `2026-01-01T00:00:${n % 60} GET /api/items/${(n * 2_654_435_761) % 4_294_967_296} 200 in ${n % 250} ms\n`
  const text = Buffer.from(Array.from({ length: 16_000 }, (_, n) => line(n)).join('')).subarray(0, 1024 ** 2)
  for (let at = 0; at < megabytes; at += 1) {
    const file = at % 8 < 6 ? join(volume, `large-${at % 4}`) : join(volume, 'small', `file-${at}`)
    const content = at % 2 ? text : randomBytes(1024 ** 2)
    content.writeUInt32LE(at, 0)
    await new Promise<void>((resolve, reject) => {
      const stream = createWriteStream(file, { flags: 'a' })
      stream.on('error', reject).end(content, () => resolve())
    })
  }
  noise.fill(0)
}

type ByHand = Pick<Round, 'ms' | 'cpuMs'>

/** CPU time of the child processes that have ended, in steps of 10 ms. */
function childrenCpuMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[13]) + Number(fields[14])) * 10
}

function ours(what: 'backup' | 'restore', folder: string): Round {
  const before = childrenCpuMs()
  const words = ['--expose-gc', '--no-warnings', child, what, folder, join(base, 'destination'), key]
  const reported = execFileSync(process.execPath, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  return { ...JSON.parse(reported), cpuMs: childrenCpuMs() - before }
}

/** Times a pipeline of programs, without a shell. */
async function timed(programs: string[][]): Promise<ByHand> {
  const [start, before] = [performance.now(), childrenCpuMs()]
  const nothing = openSync('/dev/null', 'w')
  const children = programs.map(([program, ...args], at) =>
    spawn(program!, args, { stdio: [at === 0 ? 'ignore' : 'pipe', at === programs.length - 1 ? nothing : 'pipe', 'inherit'] }),
  )
  for (const [at, one] of children.entries()) if (at > 0) children[at - 1]!.stdout!.pipe(one.stdin!)
  const codes = await Promise.all(
    children.map((one) => new Promise<number>((resolve) => one.on('close', (code) => resolve(code ?? 1)))),
  )
  if (codes.some((code) => code !== 0)) throw new Error(`${programs.map(([name]) => name).join(' | ')} ended with ${codes}`)
  return { ms: performance.now() - start, cpuMs: childrenCpuMs() - before }
}

function print({
  backup,
  restore,
  tarOut,
  tarIn,
}: {
  backup: Round[]
  restore: Round[]
  tarOut: ByHand[]
  tarIn: ByHand[]
}): void {
  const best = (times: number[]) => Math.min(...times)
  const bestOf = (rounds: ByHand[]) => best(rounds.map(({ ms }) => ms))
  const cpu = (rounds: ByHand[]) => `${(best(rounds.map(({ cpuMs }) => cpuMs)) / 1000).toFixed(1)} s`
  const memory = (rounds: Round[]) => `${Math.max(...rounds.map(({ extraMb }) => extraMb)).toFixed(0)} MB`
  const bytes = backup[0]!.plainBytes
  const rate = (ms: number) => `${(bytes / 1024 ** 2 / (ms / 1000)).toFixed(0)} MB/s`
  const written = best(backup.map(({ writtenMs }) => writtenMs!))
  const extra = Math.max(...[...backup, ...restore].map(({ extraMb }) => extraMb))
  const [out, back] = [bestOf(tarOut) / written, bestOf(tarIn) / bestOf(restore)]
  const rows = [
    ['tar | gzip -1 | age | sha256sum', rate(bestOf(tarOut)), '', cpu(tarOut), ''],
    ['backup (zstd), stored', rate(written), out.toFixed(2), '', memory(backup)],
    ['backup, stored and read back', rate(bestOf(backup)), '', cpu(backup), ''],
    ['age -d | gunzip | tar -x', rate(bestOf(tarIn)), '', cpu(tarIn), ''],
    ['restore', rate(bestOf(restore)), back.toFixed(2), cpu(restore), memory(restore)],
  ]
  console.log(table(['', 'of the volume', 'of the yardstick', 'CPU time', 'extra memory'], rows))
  const block = Math.max(...[...backup, ...restore].map(({ maxBlockMs: longestBlockMs }) => longestBlockMs))
  console.log(
    `\nvolume ${(bytes / 1024 ** 2).toFixed(0)} MB, stored ${(backup[0]!.sizeBytes! / 1024 ** 2).toFixed(0)} MB; longest block of the event loop ${block.toFixed(0)} ms`,
  )
  if (out < least || back < least || extra > maxExtraMb) process.exitCode = 1
}
