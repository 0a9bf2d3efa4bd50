import type { AnyRoute } from '@berth/contract'
import { pathOf } from '@berth/contract/client'
import { refuse } from '../../platform/failure.ts'
import type { ArgumentPart } from './input-schema.ts'
import type { RowTool } from './tools.ts'

/** The request of a tool call, as the row's route receives it. */
export interface RowRequest {
  row: AnyRoute
  params: Record<string, string>
  /** Path and query, below `/api`. */
  path: string
  body: Record<string, unknown> | undefined
  /** Arguments of the tool itself. */
  own: { maxSeconds?: unknown; lastEventId?: unknown; confirmationCode?: unknown }
}

/** Divides the arguments into path, query and body. Values are validated by the row's route. */
export function requestOf({ row, schema }: RowTool, given: Record<string, unknown>): RowRequest {
  const parts: Record<ArgumentPart, Record<string, unknown>> = { path: {}, query: {}, body: {}, own: {} }
  for (const [name, value] of Object.entries(given)) {
    const part =
      schema.parts.get(name) ?? refuse(name, `unknown. The tool has the arguments ${[...schema.parts.keys()].join(', ')}`)
    parts[part][name] = value
  }
  const params = Object.fromEntries(
    [...schema.parts].filter(([, part]) => part === 'path').map(([name]) => [name, pathValue(name, parts.path[name])]),
  )
  const body = row.body && !(row.bodyOptional && Object.keys(parts.body).length === 0) ? parts.body : undefined
  return { row, params, path: pathOf(row, params, parts.query), body, own: parts.own }
}

function pathValue(name: string, value: unknown): string {
  if (value === undefined || value === null || value === '') return refuse(name, 'is required')
  if (typeof value !== 'string' && typeof value !== 'number') return refuse(name, 'must be a string')
  // A URL parser would resolve these to another route.
  if (value === '.' || value === '..') return refuse(name, 'invalid')
  return String(value)
}
