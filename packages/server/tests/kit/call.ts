import type { Method } from '@berth/contract'
import type { TestInstance } from './instance.ts'

export interface CallInput {
  params?: Record<string, string>
  query?: Record<string, string | number | boolean>
  /** Sent as JSON; a string is sent unchanged. */
  body?: unknown
  headers?: Record<string, string>
}

export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: each test says what it expects to find in it
  body: any
  headers: Record<string, string | string[] | number | undefined>
}

/** Calls the route with the given `at` (`METHOD /path`, as in the contract). `token` null: the caller is not signed in. */
export async function call(
  { app }: Pick<TestInstance, 'app'>,
  token: string | null,
  at: `${Method} /${string}`,
  { params = {}, query = {}, body, headers = {} }: CallInput = {},
): Promise<Answer> {
  const [method, path] = at.split(' ') as [Method, string]
  const url = `/api${path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? missing(at, name)))}`
  const response = await app.inject({
    method,
    url,
    query: Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)])),
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const isJson = String(response.headers['content-type'] ?? '').startsWith('application/json')
  return { status: response.statusCode, body: isJson ? response.json() : response.body, headers: response.headers }
}

function missing(at: string, name: string): never {
  throw new Error(`${at} is called without ${name}`)
}
