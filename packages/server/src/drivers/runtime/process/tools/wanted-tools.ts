import type { BuildPlan } from '../../runtime.ts'
import { type Tool, usualRange } from './tool-packages.ts'
import { allows, isExact, versionOf } from './version-range.ts'

export interface WantedTool {
  tool: Tool
  range: string
  /** Program of this machine to use if the tool cannot be fetched. */
  instead: string | null
}

export interface Present {
  /** Version of the Node that projects get by default. */
  node: string
  /** Whether the machine has a program that projects can run. */
  has(program: string): boolean
}

/** Code names of Node's LTS releases, as in `.nvmrc`. */
const names = ['argon', 'boron', 'carbon', 'dubnium', 'erbium', 'fermium', 'gallium', 'hydrogen', 'iron', 'jod', 'krypton']
const anyNode = /^(?:node|stable|current|latest|lts|lts\/\*|\*|x|)$/i

/** Version range of a Node version as projects write it. Null if it cannot be parsed. */
export function nodeRange(text: string): string | null {
  const wanted = text.trim()
  if (anyNode.test(wanted)) return '*'
  const name = /^lts\/([a-z]+)$/i.exec(wanted)?.[1]?.toLowerCase()
  if (name) return names.includes(name) ? String(4 + names.indexOf(name) * 2) : null
  return allows(wanted, [0, 0, 0]) === null ? null : wanted
}

/** Tools that a project asks for and this machine lacks. Warns about versions that cannot be parsed. */
export function wantedTools(plan: BuildPlan, present: Present): { wanted: WantedTool[]; warnings: string[] } {
  const warnings: string[] = []
  const node = wantedNode(plan.runtimeVersion.node, present, warnings)
  const manager = wantedManager(plan, present, warnings)
  return { wanted: [...(node ? [node] : []), ...(manager ? [manager] : [])], warnings }
}

function wantedNode(text: string | undefined, { node }: Present, warnings: string[]): WantedTool | null {
  if (text === undefined) return null
  const range = nodeRange(text)
  const here = versionOf(node)
  if (range === null) warnings.push(`"${text}" is not a Node version; using ${node}`)
  if (range === null || !here || allows(range, here)) return null
  // A project pinned to an exact version usually runs on other versions of the same major.
  const isNear = isExact(range) && versionOf(range.replace(/^=/, ''))?.[0] === here[0]
  return { tool: 'node', range, instead: isNear ? `Node ${node}` : null }
}

function wantedManager({ packageManager, runtimeVersion }: BuildPlan, { has }: Present, warnings: string[]): WantedTool | null {
  const tool = (['npm', 'pnpm', 'yarn', 'bun', 'deno'] as const).find((one) => one === packageManager)
  if (!tool) return null
  const requested = runtimeVersion[tool]
  const isRead = requested !== undefined && allows(requested, [0, 0, 0]) !== null
  if (requested !== undefined && !isRead) warnings.push(`"${requested}" is not a ${tool} version`)
  if (!isRead && has(tool)) return null
  return { tool, range: isRead ? requested : usualRange[tool], instead: has(tool) ? `the ${tool} of this machine` : null }
}
