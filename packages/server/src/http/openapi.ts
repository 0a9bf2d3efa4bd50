import { type AnyRoute, type ErrorCode, errors, statusOf, type TableEntry, table, wordsOf } from '@berth/contract'

/** OpenAPI 3.1, made from the table: what is mounted is what is described. */
export function describeApi(version: string, mode: 'self-hosted' | 'cloud'): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const entry of table) {
    if (entry.row.selfHostedOnly && mode === 'cloud') continue
    for (const at of [entry.row.at, ...(entry.row.alsoAt ?? [])]) {
      const [method, path] = at.split(' ') as [string, string]
      const key = path.replace(/:(\w+)/g, '{$1}')
      paths[key] ??= {}
      paths[key][method.toLowerCase()] = operation(entry, at)
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Berth', version, description: 'Build, run, route, secure, watch, back up and move projects.' },
    servers: [{ url: '/api' }],
    security: [{ token: [] }, { session: [] }],
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A personal access token: brt_…' },
        session: { type: 'apiKey', in: 'cookie', name: 'berth_session' },
      },
      schemas: { Error: errorSchema },
    },
  }
}

const errorSchema = {
  type: 'object',
  required: ['error', 'code'],
  properties: {
    error: { type: 'string' },
    code: { type: 'string', enum: Object.keys(errors) },
    field: { type: 'string' },
    permission: { type: 'string' },
    details: {
      type: 'array',
      items: { type: 'object', properties: { field: { type: 'string' }, message: { type: 'string' } } },
    },
  },
}

function operation({ module, name, row }: TableEntry, at: string): object {
  return {
    operationId: at === row.at ? `${module}.${name}` : `${module}.${name}.${at.split(' ')[0]?.toLowerCase()}`,
    tags: [module],
    summary: row.summary,
    ...(row.permission ? { 'x-permission': row.permission } : { security: [] }),
    ...(row.selfHostedOnly ? { 'x-self-hosted-only': true } : {}),
    parameters: [...pathParameters(row), ...queryParameters(row)],
    ...requestBody(row),
    responses: { ...success(row), ...failures(row) },
  }
}

const pathParameters = (row: AnyRoute) =>
  [...row.path.matchAll(/:(\w+)/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))

function queryParameters(row: AnyRoute) {
  const { properties = {}, required = [] } = (row.query ?? {}) as { properties?: Record<string, object>; required?: string[] }
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', required: required.includes(name), schema }))
}

function requestBody(row: AnyRoute): object {
  if (row.upload) return { requestBody: { required: true, content: { [row.upload.contentType]: { schema: {} } } } }
  if (!row.body) return {}
  return { requestBody: { required: !row.bodyOptional, content: { 'application/json': { schema: row.body } } } }
}

function success(row: AnyRoute): object {
  if (row.stream)
    return {
      200: {
        description: 'Server-sent events',
        content: { 'text/event-stream': { schema: { type: 'string' } } },
        'x-events': row.stream,
      },
    }
  if (row.bytes) return { 200: { description: row.summary, content: { 'application/octet-stream': {} } } }
  const body = row.returns ? { content: { 'application/json': { schema: row.returns } } } : {}
  const statuses = [row.status ?? 200, ...(row.alsoStatus ? [row.alsoStatus] : [])]
  return Object.fromEntries(statuses.map((status) => [status, { description: row.summary, ...body }]))
}

/** Codes that a row can always answer with, and its own. */
function failures(row: AnyRoute): object {
  if (row.conceal) return { 404: failure(['not_found']), 429: failure(['rate_limited']) }
  const codes = new Set<ErrorCode>(row.public ? [] : ['unauthorized', 'forbidden'])
  if (row.body || row.query) codes.add('validation_failed')
  if (row.body) codes.add('invalid_json')
  if (row.on) codes.add('not_found')
  codes.add('rate_limited')
  for (const code of row.errors ?? []) codes.add(code)
  const byStatus = Map.groupBy(codes, statusOf)
  return Object.fromEntries([...byStatus].map(([status, group]) => [status, failure(group)]))
}

const failure = (codes: ErrorCode[]) => ({
  description: codes.map((code) => `\`${code}\`: ${wordsOf(code)}`).join('; '),
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
})
