import { table } from '@berth/contract'
import { describeApi } from '../../src/http/openapi.ts'

type Operations = Record<string, { responses: object }>

/** `GET /projects/:id` → the statuses that the OpenAPI description has for it. */
const described = new Map<string, Set<number>>()
const { paths } = describeApi('0', 'self-hosted') as { paths: Record<string, Operations> }
for (const [path, operations] of Object.entries(paths))
  for (const [method, { responses }] of Object.entries(operations))
    described.set(`${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`, new Set(Object.keys(responses).map(Number)))

const absentInCloud = new Set(table.flatMap(({ row }) => (row.selfHostedOnly ? [row.at, ...(row.alsoAt ?? [])] : [])))

/** Whether the description of a route has the status; true for a route that is not in the table or not mounted. */
export const isDescribed = (at: string, status: number): boolean =>
  (described.get(at)?.has(status) ?? true) || (status === 404 && absentInCloud.has(at))
