import { withinLimits } from './deadline.ts'
import type { Access, CallLimits } from './git-host.ts'
import { GitHostError } from './git-host-error.ts'
import { createHostFetch, type HostFetch } from './host-fetch.ts'
import { type Page, PageCache } from './page-cache.ts'
import { Fields } from './payload.ts'

type Query = Readonly<Record<string, string | number | boolean | undefined>>

export interface RestList<Item> {
  path: string
  query?: Query
  from(value: unknown): Item
}

export interface RestSettings {
  title: string
  webUrl: string
  apiUrl: string
  perPage: number
  /** Name of the page size parameter. */
  perPageName: string
  lastPage(headers: Headers): number
}

/** Requests of one call to a host with a plain JSON API over HTTP. */
export class RestCall {
  readonly #client: RestClient
  readonly #access: Access
  readonly #signal: AbortSignal

  constructor(client: RestClient, access: Access, signal: AbortSignal) {
    this.#client = client
    this.#access = access
    this.#signal = signal
  }

  async get(path: string, query: Query = {}): Promise<unknown> {
    return (await this.#send('GET', path, query)).data
  }

  /** Returns the raw bytes; undefined: more than `maxBytes`. */
  async bytes(path: string, query: Query, maxBytes: number): Promise<Buffer | undefined> {
    const response = await this.#request('GET', path, query)
    const bytes = Buffer.from(await response.arrayBuffer())
    if (response.status >= 400) throw toGitHostError(response, bytes.toString('utf8'), this.#client.title)
    return bytes.length > maxBytes ? undefined : bytes
  }

  async send(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<unknown> {
    return (await this.#send(method, path, {}, body)).data
  }

  /** Reads all pages, the first before the others. */
  async list<Item>(list: RestList<Item>): Promise<Item[]> {
    const first = await this.#page(list, 1)
    if (first.lastPage > maxPages)
      throw new GitHostError('refused', `${this.#client.title} has too many results to list. Filter by owner.`)
    const others = Array.from({ length: first.lastPage - 1 }, (_, at) => this.#page(list, at + 2))
    return [first, ...(await Promise.all(others))].flatMap(({ items }) => items)
  }

  async #page<Item>({ path, query = {}, from }: RestList<Item>, page: number): Promise<Page<Item>> {
    const { settings, pages, title } = this.#client
    const requested = { ...query, page, [settings.perPageName]: settings.perPage }
    const key = `${this.#access.id} ${path} ${JSON.stringify(requested)}`
    const cached = pages.get<Item>(key)
    const { status, data, headers } = await this.#send('GET', path, requested, undefined, cached?.etag ?? null)
    if (status === 304 && cached) return cached
    if (!Array.isArray(data)) throw new GitHostError('invalidResponse', `${title} returned a response that is not a list`)
    const lastPage = Math.max(settings.lastPage(headers), page)
    const read = { etag: headers.get('etag'), items: data.map((value) => from(value)), lastPage }
    if (read.etag) pages.set(key, read)
    return read
  }

  async #send(method: string, path: string, query: Query, body?: object, etag: string | null = null) {
    const { title } = this.#client
    const response = await this.#request(method, path, query, body, etag)
    const text = await response.text()
    if (response.status >= 400) throw toGitHostError(response, text, title)
    return { status: response.status, headers: response.headers, data: text === '' ? null : parseJson(text, title) }
  }

  async #request(method: string, path: string, query: Query, body?: object, etag: string | null = null): Promise<Response> {
    const { fetch, settings, title } = this.#client
    if (this.#access.kind !== 'token') throw new GitHostError('unauthorized', `${title} has no apps`)
    const url = new URL(`${settings.apiUrl}${path}`)
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value))
    return fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${this.#access.token.reveal()}`,
        accept: 'application/json',
        'user-agent': 'berth',
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(etag ? { 'if-none-match': etag } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: this.#signal,
    })
  }
}

const maxPages = 200

export class RestClient {
  readonly settings: RestSettings
  readonly fetch: HostFetch
  readonly pages = new PageCache()

  constructor(settings: RestSettings) {
    this.settings = settings
    this.fetch = createHostFetch({ title: settings.title, bases: [settings.webUrl, settings.apiUrl] })
  }

  get title(): string {
    return this.settings.title
  }

  request<Result>(access: Access, limits: CallLimits | undefined, work: (call: RestCall) => Promise<Result>): Promise<Result> {
    return withinLimits(this.title, limits ?? {}, (signal) => work(new RestCall(this, access, signal)))
  }
}

function parseJson(text: string, title: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new GitHostError('invalidResponse', `${title} returned a response that is not JSON. Check the URL of the git host.`)
  }
}

function toGitHostError({ status, headers }: Response, text: string, title: string): GitHostError {
  const detail = errorDetail(text)
  const extra = { status }
  if (status === 401) return new GitHostError('unauthorized', `${title} no longer accepts the stored login`, extra)
  if (status === 403) return new GitHostError('forbidden', `${title} denied the request${detail}`, extra)
  if ((status === 404 || status === 409) && /\brepository is empty\b/i.test(detail))
    return new GitHostError('empty', `${title}: the repository is empty. Push a first commit.`, extra)
  if (status === 404)
    return new GitHostError('not_found', `${title} did not find it: it does not exist, or the login has no access`, extra)
  if (status === 429) {
    const resetAt = rateLimitEnd(headers)
    const message = `${title} rate limit reached. Try again after ${resetAt.toISOString()}`
    return new GitHostError('limited', message, { status, resetAt })
  }
  if (status === 409 || /already (been taken|exists)/i.test(detail))
    return new GitHostError('conflict', `${title} rejected the request${detail}`, extra)
  if (status >= 500) return new GitHostError('unreachable', `${title} answers ${status}: it is down or overloaded`, extra)
  return new GitHostError('refused', `${title} rejected the request${detail}`, extra)
}

function rateLimitEnd(headers: Headers): Date {
  const wait = Number(headers.get('retry-after') ?? Number.NaN)
  if (Number.isFinite(wait) && wait >= 0) return new Date(Date.now() + Math.min(wait, 86_400) * 1000)
  const reset = Number(headers.get('ratelimit-reset') ?? Number.NaN)
  return Number.isFinite(reset) && reset > 0 ? new Date(reset * 1000) : new Date(Date.now() + 60_000)
}

/** `message` is a string at some hosts, and an object of lists at others. */
function errorDetail(text: string): string {
  const fields = Fields.of(Buffer.from(text))
  const inner =
    fields?.text('message') ?? (fields?.has('message') ? JSON.stringify(fields.value('message')) : fields?.text('error'))
  return inner ? `: ${inner.replace(/[\u0000-\u001f\u007f\p{Cf}]/gu, ' ').slice(0, 300)}` : ''
}
