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
  /** Id of the credential: another credential may see other items. */
  credentialId: string
  title: string
}

const perPage = 100
const maxPages = 200

/**
 * Reads all pages: the first names the number of pages, the others are read concurrently. A page that has not changed keeps the
 * number of pages of its last response, which may be outdated: further pages are read until one is not full.
 */
export async function readList<Item>(request: ListRequest<Item>, reading: ListContext): Promise<Item[]> {
  const pages: ReadPage<Item>[] = [await readPage(request, 1, reading)]
  for (;;) {
    const lastPage = Math.max(...pages.map((page) => page.lastPage), pages.length + (mayContinue(pages.at(-1)) ? 1 : 0))
    if (lastPage > maxPages)
      throw new GitHostError('refused', `${reading.title} has more than ${maxPages * perPage} results. Filter by owner.`)
    if (lastPage === pages.length) return pages.flatMap(({ items }) => items)
    const count = lastPage - pages.length
    const others = Array.from({ length: count }, (_, at) => readPage(request, pages.length + at + 1, reading))
    pages.push(...(await Promise.all(others)))
  }
}

type ReadPage<Item> = Page<Item> & { isUnchanged: boolean }

/** True for a full page from the cache: items may have been added after it. */
const mayContinue = (page: ReadPage<unknown> | undefined) => page?.isUnchanged && page.items.length >= perPage

async function readPage<Item>(request: ListRequest<Item>, page: number, reading: ListContext): Promise<ReadPage<Item>> {
  const { octokit, signal, pages, credentialId, title } = reading
  const key = `${credentialId} ${request.route} ${JSON.stringify(request.parameters)} ${page}`
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
    return { ...read, isUnchanged: false }
  } catch (error) {
    if (cached && error instanceof Error && 'status' in error && error.status === 304) return { ...cached, isUnchanged: true }
    throw error
  }
}

/** Takes only the number from the header: URLs in a response are never requested. */
function parseLastPage(link: string | undefined, page: number): number {
  const found = /[?&]page=(\d{1,6})[^>]*>\s*;\s*rel="last"/.exec(link ?? '')?.[1]
  return Math.max(found ? Number(found) : page, page)
}
