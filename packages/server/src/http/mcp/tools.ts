import { type AnyRoute, type ModuleName, needsConfirmation, type TableEntry, table } from '@berth/contract'
import type { MountDeps } from '../mount-deps.ts'
import { type InputSchema, inputSchemaOf } from './input-schema.ts'

/** A row of the route table as a tool. */
export interface RowTool {
  name: string
  group: ModuleName
  row: AnyRoute
  schema: InputSchema
}

/**
 * Whether an agent can call the row: it needs a permission, and its body and response are JSON or events. Rows without a permission
 * are for browsers, git hosts and people who sign in.
 */
const isTool = ({ row }: TableEntry): boolean => row.permission !== undefined && !row.upload && !row.bytes && !row.browser

const toolsByMode = new Map<MountDeps['mode'], ReadonlyMap<string, RowTool>>()

/** Every tool by its name, in the order of the table. */
export function rowTools(mode: MountDeps['mode']): ReadonlyMap<string, RowTool> {
  const known = toolsByMode.get(mode)
  if (known) return known
  const entries = table.filter((entry) => isTool(entry) && !(entry.row.selfHostedOnly && mode === 'cloud'))
  const tools = new Map(entries.map((entry) => [nameOf(entry), toolOf(entry)]))
  toolsByMode.set(mode, tools)
  return tools
}

const nameOf = ({ module, name }: Pick<TableEntry, 'module' | 'name'>): string => `${module}_${name}`

const toolOf = ({ module, name, row }: TableEntry): RowTool => {
  let schema: InputSchema | undefined
  return {
    name: nameOf({ module, name }),
    group: module,
    row,
    /** Made when it is first listed or called: a client sees a part of the tools only. */
    get schema() {
      schema ??= inputSchemaOf(row, module)
      return schema
    },
  }
}

/** Tools that a client sees if it chooses no groups. Every other tool is found by `find_tools` and called by `call_tool`. */
export const defaultTools: readonly string[] = [
  ...['session'].map((name) => nameOf({ module: 'access', name })),
  ...[
    ...['list', 'get', 'info', 'create', 'enable', 'disable', 'listEnvironments', 'createEnvironment'],
    ...['listEnv', 'changeEnv', 'setResources', 'linkGit', 'listDeployments', 'connectDomain', 'listDomains', 'verifyDomain'],
    ...['logs', 'streamLogs', 'recentRequests', 'metrics', 'listRules'],
  ].map((name) => nameOf({ module: 'projects', name })),
  ...['build', 'get', 'logs', 'stream', 'cancel', 'redeploy', 'rollback', 'restart', 'listVolumes'].map((name) =>
    nameOf({ module: 'deployments', name }),
  ),
  ...['listPolicies', 'startRun', 'listRuns', 'getRun'].map((name) => nameOf({ module: 'backups', name })),
]

export type Danger = 'read' | 'write' | 'destructive'

/** The highest danger of a call: some rows are destructive with certain fields only. */
export function dangerOf(row: AnyRoute): Danger {
  if (row.method === 'GET') return 'read'
  return row.confirm !== undefined || needsConfirmation(row, undefined) ? 'destructive' : 'write'
}

/** The tool as `tools/list` describes it. */
export function describeTool({ name, row, schema }: RowTool): object {
  const danger = dangerOf(row)
  return {
    name,
    description: descriptionOf(row, danger),
    inputSchema: schema.json,
    annotations: {
      title: row.summary,
      readOnlyHint: danger === 'read',
      destructiveHint: danger === 'destructive',
      idempotentHint: row.method === 'GET' || row.method === 'PUT' || row.method === 'DELETE',
      openWorldHint: false,
    },
  }
}

function descriptionOf(row: AnyRoute, danger: Danger): string {
  return [
    `${row.summary} (${row.at}, ${row.permission}).`,
    ...(row.stream ? ['Collects events until the stream ends or maxSeconds pass.'] : []),
    ...(danger !== 'destructive' ? [] : [confirmationText(row)]),
  ].join(' ')
}

const confirmationText = ({ method, confirm }: AnyRoute): string =>
  method === 'DELETE' || confirm === true || !confirm
    ? 'A person must confirm the call.'
    : `With ${confirm.join(' or ')}, a person must confirm the call.`
