import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** Test support: DNS providers on loopback that follow the public API documents of each. */

export interface TestProvider {
  url: string
  token: string
  /** TXT values by full name. */
  records: Map<string, string[]>
  /** Calls, as method and path. */
  calls: string[]
  isBroken: boolean
  close(): Promise<void>
}

interface Call {
  method: string
  path: string
  query: URLSearchParams
  body: Record<string, unknown>
}

type Reply = { status: number; body?: unknown }
type Api = (call: Call, records: Map<string, string[]>) => Reply

/** Errors in the shape of each provider. */
const errorBody = (message: string) => ({
  success: false,
  message,
  error: { code: 'failed', message },
  errors: [{ code: 1, message }],
})
const notFound: Reply = { status: 404, body: errorBody('not found') }

async function startProvider(api: Api): Promise<TestProvider> {
  const token = randomBytes(12).toString('hex')
  const provider: TestProvider = { url: '', token, records: new Map(), calls: [], isBroken: false, close: async () => {} }
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://provider')
    const method = request.method ?? 'GET'
    const body = method === 'POST' ? ((await json(request)) as Call['body']) : {}
    provider.calls.push(`${method} ${pathname}`)
    const isAllowed = request.headers.authorization === `Bearer ${token}`
    const reply = !isAllowed
      ? { status: 401, body: errorBody('invalid token') }
      : provider.isBroken
        ? { status: 422, body: errorBody('broken on purpose') }
        : api({ method, path: pathname, query: searchParams, body }, provider.records)
    response.writeHead(reply.status, { 'content-type': 'application/json' })
    response.end(reply.body === undefined ? '' : JSON.stringify(reply.body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  provider.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  provider.close = () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return provider
}

const zone = 'example.test'
const fullName = (relative: string) => (relative === '@' ? zone : `${relative}.${zone}`)

/** A record's id encodes its name and value, so the stand-in needs no table of ids. */
const idOf = (name: string, value: string) => Buffer.from(`${name} ${value}`).toString('hex')
const fromId = (id: string) => Buffer.from(id, 'hex').toString().split(' ') as [name: string, value: string]

const add = (records: Map<string, string[]>, name: string, value: string) =>
  records.set(name, [...(records.get(name) ?? []), value])
const drop = (records: Map<string, string[]>, name: string, value: string): boolean => {
  const values = records.get(name) ?? []
  records.set(
    name,
    values.filter((known) => known !== value),
  )
  return values.includes(value)
}

/** Cloudflare API v4: zones by name, records by zone id, TXT content in quotes, answers in `result`. */
const cloudflare: Api = ({ method, path, query, body }, records) => {
  const ok = (result: unknown): Reply => ({ status: 200, body: { success: true, errors: [], messages: [], result } })
  if (path === '/zones') return ok(query.get('name') === zone ? [{ id: 'z1', name: zone }] : [])
  const [, id] = /^\/zones\/z1\/dns_records(?:\/(\w+))?$/.exec(path) ?? [null]
  if (!path.startsWith('/zones/z1/dns_records')) return notFound
  if (method === 'GET' && query.get('type') === 'TXT') {
    const name = query.get('name') ?? ''
    return ok((records.get(name) ?? []).map((value) => ({ id: idOf(name, value), type: 'TXT', name, content: `"${value}"` })))
  }
  if (method === 'POST') {
    const { type, name, content } = body as Record<string, string>
    if (type !== 'TXT' || !name?.endsWith(zone) || !/^".+"$/.test(content ?? ''))
      return { status: 400, body: errorBody('bad record') }
    add(records, name, content!.slice(1, -1))
    return ok({ id: idOf(name, content!.slice(1, -1)), type, name, content })
  }
  return method === 'DELETE' && id && drop(records, ...fromId(id)) ? ok({ id }) : notFound
}

/** DigitalOcean API v2: a domain is named by its name, records have relative names and numeric ids; DELETE answers 204. */
function digitalOcean(): Api {
  const ids: string[] = []
  return ({ method, path, query, body }, records) => {
    if (path === `/domains/${zone}`) return { status: 200, body: { domain: { name: zone, ttl: 1800 } } }
    const [, id] = new RegExp(`^/domains/${zone}/records(?:/(\\d+))?$`).exec(path) ?? [null, null]
    if (!path.startsWith(`/domains/${zone}/records`)) return notFound
    if (method === 'GET' && query.get('type') === 'TXT') {
      const name = query.get('name') ?? ''
      const found = (records.get(name) ?? []).map((data) => ({ id: ids.indexOf(idOf(name, data)) + 1, type: 'TXT', name, data }))
      return { status: 200, body: { domain_records: found, links: {}, meta: { total: found.length } } }
    }
    if (method === 'POST') {
      const { type, name, data } = body as Record<string, string>
      if (type !== 'TXT' || !name || name.endsWith(zone) || !data) return { status: 422, body: errorBody('bad record') }
      add(records, fullName(name), data)
      return { status: 201, body: { domain_record: { id: ids.push(idOf(fullName(name), data)), type, name, data } } }
    }
    const known = id ? ids[Number(id) - 1] : undefined
    return method === 'DELETE' && known && drop(records, ...fromId(known)) ? { status: 204 } : notFound
  }
}

/** Hetzner Cloud API v1: record sets are changed by actions that finish later, values are in quotes. */
function hetzner(): Api {
  let isRunning = false
  return ({ method, path, body }, records) => {
    if (path === `/zones/${zone}`) return { status: 200, body: { zone: { id: 1, name: zone } } }
    if (path === '/actions/7') return { status: 200, body: { action: { id: 7, status: 'success', error: null } } }
    const [, relative, verb] =
      new RegExp(`^/zones/${zone}/rrsets/([^/]+)/TXT(?:/actions/(add|remove)_records)?$`).exec(path) ?? []
    if (!relative) return notFound
    const name = fullName(decodeURIComponent(relative))
    if (method === 'GET') {
      const values = (records.get(name) ?? []).map((value) => ({ value: `"${value}"` }))
      return values.length === 0 ? notFound : { status: 200, body: { rrset: { name: relative, type: 'TXT', records: values } } }
    }
    for (const { value } of body.records as { value: string }[]) {
      if (!/^".+"$/.test(value)) return { status: 422, body: errorBody('a TXT value must be quoted') }
      if (verb === 'add') add(records, name, value.slice(1, -1))
      else if (!drop(records, name, value.slice(1, -1))) return { status: 422, body: errorBody('no such record') }
    }
    // The first change is still running when it is answered.
    isRunning = !isRunning
    return { status: 201, body: { action: { id: 7, status: isRunning ? 'running' : 'success', error: null } } }
  }
}

export const testProviders = {
  cloudflare: () => startProvider(cloudflare),
  digitalocean: () => startProvider(digitalOcean()),
  hetzner: () => startProvider(hetzner()),
}
