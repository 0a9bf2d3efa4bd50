import type { BuildPlan } from '../../runtime.ts'
import { type Tool, usualRange } from './tool-packages.ts'
import { allows, isExact, versionOf } from './version-range.ts'

export interface WantedTool {
  tool: Tool
  range: string
  /** Something on this machine does instead, where this cannot be had. */
  instead: string | null
}

export interface Present {
  /** The Node that projects find when they ask for none. */
  node: string
  /** Whether the machine has a program that projects can reach. */
  has(program: string): boolean
}

/** Names of Node's long-lived versions, as `.nvmrc` writes them. */
const names = ['argon', 'boron', 'carbon', 'dubnium', 'erbium', 'fermium', 'gallium', 'hydrogen', 'iron', 'jod', 'krypton']
const anyNode = /^(?:node|stable|current|latest|lts|lts\/\*|\*|x|)$/i

/** As a range of versions; null when it cannot be read. */
export function nodeRange(text: string): string | null {
  const wanted = text.trim()
  if (anyNode.test(wanted)) return '*'
  const name = /^lts\/([a-z]+)$/i.exec(wanted)?.[1]?.toLowerCase()
  if (name) return names.includes(name) ? String(4 + names.indexOf(name) * 2) : null
  return allows(wanted, [0, 0, 0]) === null ? null : wanted
}

/** What a project asks for and this machine does not have as it is. Warnings are about what cannot be read. */
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
  if (range === null) warnings.push(`"${text}" names no version of Node: ${node} is used`)
  if (range === null || !here || allows(range, here)) return null
  // One that is pinned to the last number runs on its neighbours.
  const isNear = isExact(range) && versionOf(range.replace(/^=/, ''))?.[0] === here[0]
  return { tool: 'node', range, instead: isNear ? `Node ${node}` : null }
}

function wantedManager({ packageManager, runtimeVersion }: BuildPlan, { has }: Present, warnings: string[]): WantedTool | null {
  const tool = (['npm', 'pnpm', 'yarn', 'bun', 'deno'] as const).find((one) => one === packageManager)
  if (!tool) return null
  const asked = runtimeVersion[tool]
  const isRead = asked !== undefined && allows(asked, [0, 0, 0]) !== null
  if (asked !== undefined && !isRead) warnings.push(`"${asked}" names no version of ${tool}`)
  if (!isRead && has(tool)) return null
  return { tool, range: isRead ? asked : usualRange[tool], instead: has(tool) ? `the ${tool} of this machine` : null }
}
