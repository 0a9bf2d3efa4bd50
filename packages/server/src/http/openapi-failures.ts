import { type AnyRoute, type ErrorCode, messageOf, projectScoped, statusOf } from '@berth/contract'
import { mayBeInCloud } from './cloud-proxy.ts'

/** All error responses of a route, by status: common ones, those implied by its properties, and its own. */
export function failures(row: AnyRoute, mode: 'self-hosted' | 'cloud'): object {
  const codes = new Set<ErrorCode>(row.conceal ? ['not_found', 'rate_limited'] : codesOf(row, mode))
  const byStatus = Map.groupBy(codes, statusOf)
  return Object.fromEntries([...byStatus].map(([status, group]) => [status, failure(group)]))
}

/** Properties of a route, and the error codes that they imply besides those of its handler. */
const impliedErrors: readonly [(row: AnyRoute, mode: string) => boolean, readonly ErrorCode[]][] = [
  [() => true, ['rate_limited', 'internal', 'unavailable', 'storage_full']],
  [(row) => !row.public, ['unauthorized', 'forbidden']],
  [(row) => row.body !== undefined || row.query !== undefined, ['validation_failed']],
  [(row) => row.path.includes(':'), ['not_found']],
  [(row) => row.on !== undefined, ['not_found']],
  [(row) => takesJson(row), ['validation_failed', 'invalid_json']],
  [(row) => row.method !== 'GET' && !row.ignoresBody, ['payload_too_large', 'unsupported_media_type']],
  [(row) => writesProject(row), ['conflict', 'work_in_progress']],
  [(row, mode) => mode === 'self-hosted' && mayBeInCloud(row), ['cloud_unreachable']],
]

/** Another operation on the project may be under way. */
const writesProject = ({ method, on }: AnyRoute): boolean => method !== 'GET' && on !== undefined && projectScoped.has(on)

/** A route without a body schema still parses a JSON body and rejects its fields as unknown. */
const takesJson = ({ method, upload, ignoresBody }: AnyRoute): boolean => method !== 'GET' && !upload && !ignoresBody

const codesOf = (row: AnyRoute, mode: string): ErrorCode[] => [
  ...impliedErrors.flatMap(([applies, codes]) => (applies(row, mode) ? codes : [])),
  ...(row.errors ?? []),
]

const failure = (codes: ErrorCode[]) => ({
  description: codes.map((code) => `\`${code}\`: ${messageOf(code)}`).join('; '),
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
})
