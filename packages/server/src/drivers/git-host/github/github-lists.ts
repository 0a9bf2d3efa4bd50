import type { Octokit } from 'octokit'
import { invalidResponse } from '../answer-parts.ts'
import { GitHostError } from '../git-host-error.ts'
import type { Page, PageCache } from '../page-cache.ts'

export interface ListRequest<Item> {
  /** Route such as `GET /user/repos`. */
  route: string
  parameters: Record<string, unknown>
  /** Field of the response that holds the list; absent: the response itself. */
  under?: string
  from(value: unknown): Item
}

interface ListContext {
  octokit: Octokit
  signal: AbortSignal
  pages: PageCache
  /** The access whose list it is: another access may see other items. */
  accessId: string
  title: string
}

const perPage = 100
const maxPages = 200

/** Reads all pages: the first says how many there are, the others are read concurrently. */
export async function readList<Item>(request: ListRequest<Item>, reading: ListContext): Promise<Item[]> {
  const first = await readPage(request, 1, reading)
  if (first.lastPage > maxPages)
    throw new GitHostError('refused', `${reading.title} has more than ${maxPages * perPage} results. Filter by owner.`)
  const others = Array.from({ length: first.lastPage - 1 }, (_, at) => readPage(request, at + 2, reading))
  const rest = await Promise.all(others)
  return [first, ...rest].flatMap(({ items }) => items)
}

async function readPage<Item>(request: ListRequest<Item>, page: number, reading: ListContext): Promise<Page<Item>> {
  const { octokit, signal, pages, accessId, title } = reading
  const key = `${accessId} ${request.route} ${JSON.stringify(request.parameters)} ${page}`
  const cached = pages.get<Item>(key)
  const headers = cached?.etag ? { 'if-none-match': cached.etag } : {}
  const parameters = { ...request.parameters, per_page: perPage, page, headers, request: { signal } }
  try {
    const response = await octokit.request(request.route, parameters)
    const list = request.under ? (response.data as Record<string, unknown> | null)?.[request.under] : response.data
    if (!Array.isArray(list)) return invalidResponse(title, 'a list')
    const read: Page<Item> = {
      etag: response.headers.etag ?? null,
      items: list.map((value) => request.from(value)),
      lastPage: parseLastPage(response.headers.link, page),
    }
    if (read.etag) pages.set(key, read)
    return read
  } catch (error) {
    if (cached && error instanceof Error && 'status' in error && error.status === 304) return cached
    throw error
  }
}

/** Takes only the number from the header: URLs in a response are never requested. */
function parseLastPage(link: string | undefined, page: number): number {
  const found = /[?&]page=(\d{1,6})[^>]*>\s*;\s*rel="last"/.exec(link ?? '')?.[1]
  return Math.max(found ? Number(found) : page, page)
}
