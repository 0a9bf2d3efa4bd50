import type { LabelMap } from '../labels.ts'
import { platformArguments } from './platform-flags.ts'
import { DockerfileRefused, expandWord, parseStrictly, type StrictInstruction, wordsIn } from './strict-dockerfile.ts'

export interface StageOptions {
  /** Target stage, by name or number. Null: the last one. */
  target: string | null
  buildArguments: Readonly<Record<string, string>>
  /** Target platform of the build: `linux/amd64`. */
  platform: string
}

interface Stage {
  name: string | null
  /** Numbers of the stages that this one depends on. */
  needs: Set<number>
  first: number
  /** Line after its last one. */
  end: number
}

/**
 * Removes the stages that the result does not need: a `test` stage in the middle is not built, and its images are not pulled,
 * whichever builder is used. Its lines are left empty, so that numbers of stages and lines stay the same.
 */
export function withoutUnneededStages(text: string, options: StageOptions): string {
  const { lines, instructions, escapeSign } = parseStrictly(text)
  const stages = stagesOf(instructions, lines.length, { ...options, escapeSign })
  if (stages.length === 0) return text
  const result = targetStage(stages, options.target)
  const needed = new Set<number>()
  const addNeeded = (at: number) => {
    if (needed.has(at)) return
    needed.add(at)
    for (const other of stages[at]?.needs ?? []) addNeeded(other)
  }
  addNeeded(result)
  for (const [at, { first, end, name }] of stages.entries()) {
    if (needed.has(at)) continue
    lines.fill('', first, end)
    if (at < result) lines[first] = `FROM scratch${name === null ? '' : ` AS ${name}`}`
  }
  return lines.join('\n')
}

/** Arguments that a Dockerfile declares, before its first stage or inside one. */
export function declaredArguments(text: string): string[] {
  const declared = parseStrictly(text).instructions.filter(({ keyword }) => keyword === 'ARG')
  return [...new Set(declared.flatMap(({ rest }) => wordsIn(rest).words.map((word) => word.split('=', 1)[0] ?? '')))]
}

/**
 * Labels every image that the classic builder leaves behind: each stage begins with `stageLabels`, and the result ends with
 * `resultLabels`.
 */
export function withLabels(text: string, stageLabels: LabelMap, resultLabels: LabelMap): string {
  const { lines, instructions, escapeSign } = parseStrictly(text)
  for (const [at, { keyword, last }] of instructions.entries())
    if (keyword === 'FROM' && instructions[at + 1]?.keyword !== 'FROM') lines[last] += `\n${labelLine(stageLabels)}`
  // A continued last line would join with the added one.
  while (lines.length > 0 && /^\s*$/.test(lines.at(-1)!.trimEnd().replace(escapeSign, ''))) lines.pop()
  const end = lines.pop()?.trimEnd() ?? ''
  return [...lines, end.endsWith(escapeSign) ? end.slice(0, -1) : end, labelLine(resultLabels)].join('\n')
}

const labelLine = (labels: LabelMap) =>
  `LABEL ${Object.entries(labels)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(' ')}`

function stagesOf(
  instructions: readonly StrictInstruction[],
  lineCount: number,
  { buildArguments, platform, escapeSign }: StageOptions & { escapeSign: string },
): Stage[] {
  const stages: Stage[] = []
  const values = new Map(platformArguments(platform))
  const findStage = (name: string) => {
    const byName = stages.findLastIndex((stage) => stage.name?.toLowerCase() === name.toLowerCase())
    return byName >= 0 ? byName : /^\d+$/.test(name) && Number(name) < stages.length ? Number(name) : null
  }
  for (const { keyword, rest, flags, first } of instructions) {
    const current = stages.at(-1)
    if (keyword === 'FROM') {
      if (current) current.end = first
      const [written = '', , name = null] = wordsIn(rest).words
      const base = expandWord(written, values, escapeSign)
      const baseStage = base === null ? null : stages.findLastIndex((stage) => stage.name?.toLowerCase() === base.toLowerCase())
      stages.push({ name, needs: new Set(baseStage === null || baseStage < 0 ? [] : [baseStage]), first, end: lineCount })
    } else if (keyword === 'ARG' && !current) {
      for (const word of wordsIn(rest).words) {
        const [, name = word, fallback] = /^(\w+)=([\s\S]*)$/.exec(word) ?? []
        const buildArgument = Object.hasOwn(buildArguments, name) ? buildArguments[name] : undefined
        const value = buildArgument ?? (fallback === undefined ? values.get(name) : expandWord(fallback, values, escapeSign))
        if (value !== undefined && value !== null) values.set(name, value)
      }
    } else
      for (const source of sourcesIn(flags)) {
        const number = findStage(source)
        if (current && number !== null && number < stages.length - 1) current.needs.add(number)
      }
  }
  return stages
}

const sourcesIn = (flags: readonly string[]): string[] =>
  flags.flatMap((flag) => {
    const copied = /^--from=(.*)$/i.exec(flag)?.[1]
    const mounted = /^--mount=/i.test(flag) ? /(?:^--mount=|,)\s*from=([^,]*)/i.exec(flag)?.[1] : undefined
    return [copied, mounted].filter((source) => source !== undefined)
  })

function targetStage(stages: readonly Stage[], target: string | null): number {
  if (target === null) return stages.length - 1
  const byName = stages.findLastIndex(({ name }) => name?.toLowerCase() === target.toLowerCase())
  if (byName >= 0) return byName
  if (/^\d+$/.test(target) && Number(target) < stages.length) return Number(target)
  const names = stages.flatMap(({ name }) => name ?? [])
  throw new DockerfileRefused(
    `it has no stage "${target.slice(0, 100)}"${names.length > 0 ? `; its stages are: ${names.slice(0, 20).join(', ')}` : ''}`,
  )
}
