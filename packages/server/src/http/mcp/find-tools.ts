import { checkTag } from '../guard.ts'
import type { McpCall } from './call.ts'
import { isObject, RpcError, rpcErrors } from './json-rpc.ts'
import { type ToolResult, textResult } from './tool-result.ts'
import { dangerOf, defaultTools, describeTool, type RowTool, rowTools } from './tools.ts'

export const findToolsName = 'find_tools'
export const callToolName = 'call_tool'
const maxFound = 15
/** Size limit of results with arguments. Further results have only a name and a summary. */
const maxFoundBytes = 32 * 1024

/** Two tools that reach every other tool, so that a client lists few of them. */
export const metaTools = [
  {
    name: findToolsName,
    description: 'Find tools that are not listed, by words of their name or description. Returns names and arguments.',
    inputSchema: {
      type: 'object',
      properties: { query: { type: 'string', maxLength: 200, description: 'Words, such as: backup restore' } },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: { title: 'Find tools', readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  },
  {
    name: callToolName,
    description: 'Call a tool that find_tools returned.',
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', maxLength: 100, description: 'The name of the tool' },
        arguments: { type: 'object', description: 'The arguments of the tool' },
      },
      required: ['name'],
      additionalProperties: false,
    },
    annotations: {
      title: 'Call a tool',
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: false,
    },
  },
] as const

/** The tools that the client chose with `?tools=`, limited to those that the token may call. */
export async function listedTools(call: McpCall): Promise<object[]> {
  const all = [...rowTools(call.mount.mode).values()]
  const chosen = await allowedTools(call, all.filter(choiceOf(call, all)))
  return [...metaTools, ...chosen.map(describeTool)]
}

/** `?tools=backups,servers_list`: groups and names; `all` for every tool. */
function choiceOf({ http }: McpCall, all: readonly RowTool[]): (tool: RowTool) => boolean {
  const { tools } = http.query as { tools?: unknown }
  if (tools === undefined) return ({ name }) => defaultTools.includes(name)
  const names = new Set(
    String(tools)
      .split(',')
      .map((name) => name.trim()),
  )
  if (names.has('all')) return () => true
  const groups = [...new Set(all.map(({ group }) => group as string))]
  for (const name of names)
    if (name !== 'default' && !groups.includes(name) && !all.some((tool) => tool.name === name))
      throw new RpcError(
        rpcErrors.invalidParams,
        `tools: unknown group or tool ${name}. Groups: default, ${groups.join(', ')}, all`,
      )
  return (tool) => names.has(tool.group) || names.has(tool.name) || (names.has('default') && defaultTools.includes(tool.name))
}

/** The tools whose permission the caller has. A call of another tool is refused by its route. */
async function allowedTools({ mount, caller }: McpCall, tools: readonly RowTool[]): Promise<RowTool[]> {
  const { authenticator } = mount
  const [highest, operator] = [once(() => authenticator.highestGrant(caller)), once(async () => authenticator.isOperator(caller))]
  const reused = { ...authenticator, highestGrant: highest, isOperator: operator }
  const isAllowed = async ({ row }: RowTool) => checkTag(row, caller, reused)
  const checks = await Promise.allSettled(tools.map(isAllowed))
  return tools.filter((_, at) => checks[at]?.status === 'fulfilled')
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let value: Promise<T> | undefined
  return () => {
    value ??= read()
    return value
  }
}

export async function findTools(call: McpCall, given: Record<string, unknown>): Promise<ToolResult> {
  const query = String(given.query ?? '')
    .slice(0, 200)
    .trim()
  const exact = rowTools(call.mount.mode).get(query)
  const words = query
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
  const scored = [...rowTools(call.mount.mode).values()]
    .map((tool) => ({ tool, score: tool === exact ? Number.POSITIVE_INFINITY : scoreOf(tool, words) }))
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
  const found = (
    await allowedTools(
      call,
      scored.map(({ tool }) => tool),
    )
  ).slice(0, maxFound)
  if (found.length === 0) return textResult('No tool that this token may call matches. Try other words.')
  return textResult(describeWithin(found, maxFoundBytes).join('\n'))
}

function describeWithin(tools: readonly RowTool[], maxBytes: number): string[] {
  let bytes = 0
  return tools.map((tool) => {
    const whole = JSON.stringify({ ...describeTool(tool), annotations: undefined, danger: dangerOf(tool.row) })
    bytes += whole.length
    if (bytes <= maxBytes) return whole
    return JSON.stringify({ name: tool.name, description: `${tool.row.summary}. Search for its name to see its arguments.` })
  })
}

/** A word in the name counts more than one in the description. */
function scoreOf({ name, row }: RowTool, words: readonly string[]): number {
  const text = `${row.summary} ${row.at}`.toLowerCase()
  const score = (word: string) => (name.toLowerCase().includes(word) ? 2 : text.includes(word) ? 1 : 0)
  return words.reduce((sum, word) => sum + score(word), 0)
}

/** The tool and the arguments inside a call of `call_tool`. */
export function innerCall(given: Record<string, unknown>): { name: unknown; arguments: unknown } {
  const { name, arguments: inner = {} } = given
  if (!isObject(inner)) throw new RpcError(rpcErrors.invalidParams, 'arguments.arguments: must be an object')
  return { name, arguments: inner }
}
