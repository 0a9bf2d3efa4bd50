import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Random } from './random.ts'

/**
 * A kind of input and the property that must hold for it. Inputs are JSON values: a crash is stored with its input and not with its
 * seed, so that it stays a test when the generator changes.
 */
export interface Fuzzed<Input = unknown> {
  name: string
  make(random: Random): Input
  /** Throws if the property does not hold. */
  check(input: Input): void | Promise<void>
  /** An input that takes more CPU time is a finding too; for code that must be linear. */
  slowMs?: number
}

export interface Finding {
  name: string
  input: unknown
  error: string
}

export interface FuzzOptions {
  seconds: number
  /** Default 1: the gate tries the same inputs every time, within its time limit. */
  seed?: number
  /** Folder for findings; without it they are only returned. */
  keepIn?: string
}

export const seedsFolder = (area: string) => join(import.meta.dirname, 'seeds', area)

/** Fuzzes every kind in turn until the time is over or a finding occurs. */
export async function fuzz(kinds: readonly Fuzzed[], { seconds, seed = 1, keepIn }: FuzzOptions) {
  const tried: Record<string, number> = Object.fromEntries(kinds.map(({ name }) => [name, 0]))
  // Each kind has its own random numbers: the duration of another kind does not change its inputs.
  const randoms = new Map(kinds.map((kind) => [kind, new Random(seed)]))
  const endAt = performance.now() + seconds * 1000
  while (performance.now() < endAt) {
    for (const kind of kinds) {
      const turnEnd = Math.min(endAt, performance.now() + 100)
      do {
        const input = kind.make(randoms.get(kind)!)
        tried[kind.name]! += 1
        const error = await failure(kind, input)
        if (error === undefined) continue
        const finding = { name: kind.name, input, error }
        if (keepIn) await keep(keepIn, finding)
        return { tried, finding }
      } while (performance.now() < turnEnd)
    }
  }
  return { tried, finding: undefined }
}

/** Runs every stored input again; returns the failures, and the number of inputs. */
export async function replay(kinds: readonly Fuzzed[], folder: string): Promise<{ tried: number; findings: Finding[] }> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.json')).sort()
  const findings: Finding[] = []
  for (const name of names) {
    const { name: kindName, input } = JSON.parse(await readFile(join(folder, name), 'utf8')) as Finding
    const kind = kinds.find((candidate) => candidate.name === kindName)
    const error = kind ? await failure(kind, input) : `${name}: no kind is called ${kindName}`
    if (error !== undefined) findings.push({ name: kindName, input, error })
  }
  return { tried: names.length, findings }
}

async function failure(kind: Fuzzed, input: unknown): Promise<string | undefined> {
  const before = process.cpuUsage()
  try {
    await kind.check(input)
  } catch (cause) {
    return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
  }
  // CPU time instead of elapsed time, which would report false findings on a busy machine.
  const { user, system } = process.cpuUsage(before)
  const tookMs = (user + system) / 1000
  return kind.slowMs !== undefined && tookMs > kind.slowMs ? `took ${Math.round(tookMs)} ms` : undefined
}

/** A file per input: an input that is found twice is stored once. */
async function keep(folder: string, finding: Finding): Promise<void> {
  await mkdir(folder, { recursive: true })
  const digest = createHash('sha256').update(JSON.stringify(finding.input)).digest('hex').slice(0, 12)
  await writeFile(join(folder, `${finding.name}-${digest}.json`), `${JSON.stringify(finding, null, 2)}\n`)
}

/** Runs the fuzzer as a program: `--seconds 3600 --seed 7 --only name`. A finding is stored with the seeds and ends the run. */
export async function fuzzByHand(area: string, kinds: readonly Fuzzed[]): Promise<void> {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '3600' }, seed: { type: 'string' }, only: { type: 'string' } },
  })
  const chosen = kinds.filter(({ name }) => values.only === undefined || name === values.only)
  const seed = Number(values.seed ?? Date.now() % 1_000_000)
  console.log(`${area}: seed ${seed}, ${values.seconds} s, ${chosen.map(({ name }) => name).join(', ')}`)
  for (const { name, error } of (await replay(kinds, seedsFolder(area))).findings) console.log(`kept ${name}: ${error}`)
  const { tried, finding } = await fuzz(chosen, { seconds: Number(values.seconds), seed, keepIn: seedsFolder(area) })
  console.table(tried)
  if (!finding) return
  console.log(`${finding.name} found with\n${JSON.stringify(finding.input)}\n${finding.error}`)
  process.exitCode = 1
}
