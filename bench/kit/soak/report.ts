import { megabytes, table } from '../table.ts'
import type { SoakProject } from './fleet.ts'
import { type Measure, measures } from './measure.ts'
import type { Sampler } from './sampler.ts'
import { trendOf } from './trend.ts'

const shortestToJudge = 15
const maxLines = 30

export interface Findings {
  minutes: number
  fleet: readonly SoakProject[]
  /** Counts by chore and outcome. */
  outcomes: ReadonlyMap<string, ReadonlyMap<string, number>>
  problems: readonly string[]
  sampler: Sampler
}

/** Prints the tables. Returns true if no request was lost, no chore failed and no measure grows. */
export function report({ minutes, fleet, outcomes, problems, sampler }: Findings): boolean {
  const lost = fleet.flatMap(({ traffic }) => traffic.count.lost)
  console.log(requestTable(fleet))
  console.log(`\n${choreTable(outcomes)}`)
  const isValidated = minutes >= shortestToJudge
  const { text, growing } = measureTable(sampler, isValidated)
  console.log(`\n${text}`)
  console.log(`\n${diskTable(sampler)}`)
  print('lost requests', lost)
  print('problems', problems)
  const isGood = lost.length === 0 && problems.length === 0 && (!isValidated || growing.length === 0)
  const growth = isValidated
    ? `growing: ${growing.join(', ') || 'nothing'}`
    : `growth: not judged below ${shortestToJudge} minutes`
  console.log(`\n${isGood ? 'passed' : 'failed'}: ${lost.length} lost requests, ${problems.length} problems, ${growth}`)
  return isGood
}

function requestTable(fleet: readonly SoakProject[]): string {
  const counts = fleet.map(({ traffic }) => traffic.count)
  const total = (pick: (count: (typeof counts)[number]) => number) => counts.reduce((sum, count) => sum + pick(count), 0)
  const rows = fleet.map(({ name, traffic: { count } }) => [name, count.answered, count.expected, count.lost.length])
  const all = ['all', total(({ answered }) => answered), total(({ expected }) => expected), total((count) => count.lost.length)]
  return table(['requests to', 'answered', 'failed while meant to be down', 'lost'], [...rows, all])
}

function choreTable(outcomes: Findings['outcomes']): string {
  const rows = [...outcomes].map(([name, counts]) => [
    name,
    [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(', '),
  ])
  return table(['chore', 'outcomes'], rows)
}

function measureTable({ samples }: Sampler, isValidated: boolean): { text: string; growing: string[] } {
  const trends = (Object.keys(measures) as Measure[]).map((name) => ({
    name,
    ...trendOf(samples[name], measures[name].tolerance),
  }))
  const rows = trends.map(({ name, mean, slopePerHour, growth, tolerance, verdict }) => {
    const show = (value: number) => (measures[name].unit === 'bytes' ? megabytes(value) : value.toFixed(1))
    return [name, show(mean), show(slopePerHour), show(growth), show(tolerance), isValidated ? verdict : `(${verdict})`]
  })
  const text = table(['last two thirds', 'mean', 'slope per hour', 'growth', 'tolerance', 'verdict'], rows)
  return { text, growing: trends.filter(({ verdict }) => verdict === 'grows').map(({ name }) => name) }
}

/** Prints the folders whose disk use changed most between the end of the first third and the end of the run. */
function diskTable({ disk }: Sampler): string {
  const [before = new Map(), after = new Map()] = [disk[Math.floor(disk.length / 3)], disk.at(-1)]
  const names = [...new Set([...before.keys(), ...after.keys()])]
  const rows = names
    .map((name) => ({ name, from: before.get(name) ?? 0, to: after.get(name) ?? 0 }))
    .sort((left, right) => right.to - right.from - (left.to - left.from))
    .slice(0, 8)
  return table(
    ['data folder', 'after a third', 'at the end'],
    rows.map(({ name, from, to }) => [name, megabytes(from), megabytes(to)]),
  )
}

function print(title: string, lines: readonly string[]): void {
  if (lines.length === 0) return
  console.log(`\n${title}:\n${lines.slice(0, maxLines).join('\n')}`)
  if (lines.length > maxLines) console.log(`… and ${lines.length - maxLines} more`)
}
