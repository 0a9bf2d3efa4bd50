import { type AnyRoute, errors, type TableEntry, table } from '@berth/contract'
import { isProjectRequest, neededLevel } from './guard.ts'
import { failures } from './openapi-failures.ts'
import { KindExpander } from './openapi-kinds.ts'
import { pathParameters, queryParameters } from './openapi-parameters.ts'
import { withTexts } from './openapi-texts.ts'
import { replyOf } from './warnings.ts'

type Mode = 'self-hosted' | 'cloud'

/** The OpenAPI 3.1 document, generated from the mounted routes. */
export function describeApi(version: string, mode: Mode): object {
  const paths: Record<string, Record<string, object>> = {}
  const kinds = new KindExpander()
  for (const entry of table) {
    if (entry.row.selfHostedOnly && mode === 'cloud') continue
    for (const at of [entry.row.at, ...(entry.row.alsoAt ?? [])]) {
      const [method, path] = at.split(' ') as [string, string]
      const key = path.replace(/:(\w+)/g, '{$1}')
      paths[key] ??= {}
      paths[key][method.toLowerCase()] = operation(entry, at, mode, kinds)
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Berth', version, description: 'Build, run, route, secure, watch, back up and move projects.' },
    servers: [{ url: '/api' }],
    security: [{ token: [] }, { session: [] }],
    paths,
    components: { securitySchemes, schemas: { Error: errorSchema, ...kinds.components } },
  }
}

const securitySchemes = {
  token: { type: 'http', scheme: 'bearer', description: 'A personal access token: brt_…' },
  session: { type: 'apiKey', in: 'cookie', name: 'berth_session', description: 'The session of the dashboard' },
  streamToken: { type: 'apiKey', in: 'query', name: 'token', description: 'A single-use token for this stream' },
  policyToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The webhook token of a backup policy, shown once when it was created',
  },
  hookSignature: {
    type: 'apiKey',
    in: 'header',
    name: 'x-hub-signature-256',
    description: 'HMAC-SHA256 of the raw body with the webhook secret. GitLab sends the secret as `x-gitlab-token` instead',
  },
}

const errorSchema = {
  type: 'object',
  required: ['error', 'code'],
  properties: {
    error: { type: 'string', description: 'The error message' },
    code: { type: 'string', enum: Object.keys(errors), description: 'The error code' },
    field: { type: 'string', description: 'The first invalid field, as a dotted path' },
    permission: { type: 'string', description: 'With `forbidden`: the permission tag that is missing' },
    details: {
      type: 'array',
      description: 'All invalid fields',
      items: {
        type: 'object',
        properties: {
          field: { type: 'string', description: 'The field, as a dotted path' },
          message: { type: 'string', description: 'Why the field is invalid' },
        },
      },
    },
  },
}

function operation({ module, name, row }: TableEntry, at: string, mode: Mode, kinds: KindExpander): object {
  const operationId = at === row.at ? `${module}.${name}` : `${module}.${name}.${at.split(' ')[0]?.toLowerCase()}`
  const expand = (schema: unknown, part: string) => kinds.expand(withTexts(schema, module), `${operationId}.${part}`)
  return {
    operationId,
    tags: [module],
    summary: row.summary,
    ...(row.needs ? { description: needsOf(row) } : {}),
    ...(row.permission ? { 'x-permission': row.permission } : {}),
    ...securityOf(row),
    ...(row.selfHostedOnly ? { 'x-self-hosted-only': true } : {}),
    parameters: [...pathParameters(at.split(' ')[1] as string), ...queryParameters(row, module)],
    ...requestBody(row, expand),
    responses: { ...failures(row, mode), ...success(row, expand) },
  }
}

function needsOf(row: AnyRoute): string {
  const tag = isProjectRequest(row, neededLevel(row)) ? '; a token with scopes needs that tag too' : ''
  return `Needs the level ${row.needs} on the project (\`project:${row.needs}\`)${tag}.`
}

function securityOf(row: AnyRoute): object {
  if (row.credential) return { security: [{ [row.credential]: [] }] }
  if (row.streamToken) return { security: [{ token: [] }, { session: [] }, { streamToken: [] }] }
  return row.permission ? {} : { security: [] }
}

type Expand = (schema: unknown, part: string) => unknown

function requestBody(row: AnyRoute, expand: Expand): object {
  if (row.upload) return { requestBody: { required: true, content: { [row.upload.contentType]: { schema: {} } } } }
  if (!row.body) return {}
  const required = !row.bodyOptional && (row.body.required ?? []).length > 0
  return { requestBody: { required, content: { 'application/json': { schema: expand(row.body, 'body') } } } }
}

function success(row: AnyRoute, expand: Expand): object {
  if (row.stream)
    return {
      200: {
        description: 'Server-sent events',
        content: { 'text/event-stream': { schema: { type: 'string' } } },
        'x-events': expand(row.stream, 'events'),
      },
    }
  if (row.bytes) return { 200: { description: row.summary, content: { 'application/octet-stream': {} } } }
  if (row.browser) return pages
  const body = row.returns ? { content: { 'application/json': { schema: expand(replyOf(row), 'answer') } } } : {}
  const statuses = [row.status ?? 200, ...(row.alsoStatus ? [row.alsoStatus] : [])]
  return Object.fromEntries(statuses.map((status) => [status, { description: row.summary, ...body }]))
}

/** Responses of routes that browsers navigate to: a redirect or a page. */
const html = { 'text/html': { schema: { type: 'string' } } }
const pages = {
  200: { description: 'A page that asks the user to confirm', content: html },
  303: { description: 'Redirect to the next page' },
  400: { description: 'A page that shows the error', content: html },
}
