import type { BuildPlan } from '../../build-plan.ts'
import { defaultRange, type Tool } from './tool-packages.ts'
import { allows, isExact, versionOf } from './version-range.ts'

export interface WantedTool {
  tool: Tool
  range: string
  /** Program of this machine to use if the tool cannot be fetched. */
  fallback: string | null
}

export interface MachineTools {
  /** Version of the Node that projects get by default. */
  node: string
  /** Whether the machine has a program that projects can run. */
  has(program: string): boolean
}

/** Code names of Node's LTS releases, as in `.nvmrc`. */
const ltsNames = ['argon', 'boron', 'carbon', 'dubnium', 'erbium', 'fermium', 'gallium', 'hydrogen', 'iron', 'jod', 'krypton']
const anyNode = /^(?:node|stable|current|latest|lts|lts\/\*|\*|x|)$/i

/** Version range of a Node version as projects write it. Null if it cannot be parsed. */
export function nodeRange(text: string): string | null {
  const version = text.trim()
  if (anyNode.test(version)) return '*'
  const name = /^lts\/([a-z]+)$/i.exec(version)?.[1]?.toLowerCase()
  if (name) return ltsNames.includes(name) ? String(4 + ltsNames.indexOf(name) * 2) : null
  return allows(version, [0, 0, 0]) === null ? null : version
}

/** Tools that a project requires and this machine lacks. Warns about versions that cannot be parsed. */
export function wantedTools(plan: BuildPlan, present: MachineTools): { wanted: WantedTool[]; warnings: string[] } {
  const warnings: string[] = []
  const node = wantedNode(plan.runtimeVersion.node, present, warnings)
  const manager = wantedManager(plan, present, warnings) ?? (plan.packageManager === 'npm' ? npmForOldNode(node) : null)
  return { wanted: [...(node ? [node] : []), ...(manager ? [manager] : [])], warnings }
}

function wantedNode(text: string | undefined, { node }: MachineTools, warnings: string[]): WantedTool | null {
  if (text === undefined) return null
  const range = nodeRange(text)
  const present = versionOf(node)
  if (range === null) warnings.push(`"${text}" is not a Node version; using ${node}`)
  if (range === null || !present || allows(range, present)) return null
  // A project pinned to an exact version usually runs on other versions of the same major.
  const isSameMajor = isExact(range) && versionOf(range.replace(/^=/, ''))?.[0] === present[0]
  return { tool: 'node', range, fallback: isSameMajor ? `Node ${node}` : null }
}

/** Node versions that the npm of this machine may not support, with the npm that they were released with. */
const npmOfOldNode: readonly [node: number, npm: string][] = [
  [19, '10'],
  [18, '10'],
  [17, '8'],
  [16, '8'],
  [15, '6'],
  [14, '6'],
  [12, '6'],
  [10, '6'],
]

/** The npm for a Node that is older than every version that current npm supports. */
function npmForOldNode(node: WantedTool | null): WantedTool | null {
  if (!node) return null
  // The newest version in the range is fetched. An exact version is only allowed as such.
  const exact = isExact(node.range) ? versionOf(node.range.replace(/^=/, ''))?.[0] : undefined
  const isNewer = exact === undefined && [20, 21, 22, 23].some((major) => allows(node.range, [major, 999, 999]))
  const old = npmOfOldNode.find(([major]) => (exact === undefined ? allows(node.range, [major, 999, 999]) : exact === major))
  return old && !isNewer ? { tool: 'npm', range: old[1], fallback: 'the npm of this machine' } : null
}

function wantedManager(
  { packageManager, runtimeVersion }: BuildPlan,
  { has }: MachineTools,
  warnings: string[],
): WantedTool | null {
  const tool = (['npm', 'pnpm', 'yarn', 'bun', 'deno'] as const).find((one) => one === packageManager)
  if (!tool) return null
  const requested = runtimeVersion[tool]
  const isParsed = requested !== undefined && allows(requested, [0, 0, 0]) !== null
  if (requested !== undefined && !isParsed) warnings.push(`"${requested}" is not a ${tool} version`)
  if (!isParsed && has(tool)) return null
  return { tool, range: isParsed ? requested : defaultRange[tool], fallback: has(tool) ? `the ${tool} of this machine` : null }
}
