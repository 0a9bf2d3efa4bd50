import type { Octokit } from 'octokit'
import { nonsense } from '../answer-parts.ts'
import { GitHostError } from '../git-host-error.ts'
import type { Page, PageCache } from '../page-cache.ts'

export interface ListRequest<Item> {
  /** `GET /user/repos` */
  route: string
  parameters: Record<string, unknown>
  /** Where the list is in the answer; the answer itself when left out. */
  under?: string
  from(value: unknown): Item
}

interface Reading {
  octokit: Octokit
  signal: AbortSignal
  pages: PageCache
  /** Whose list it is: what one may see, another may not. */
  accessId: string
  title: string
}

const perPage = 100
const mostPages = 200

/** All pages: the first says how many there are, the others are read beside each other. */
export async function readList<Item>(request: ListRequest<Item>, reading: Reading): Promise<Item[]> {
  const first = await readPage(request, 1, reading)
  if (first.lastPage > mostPages)
    throw new GitHostError('refused', `${reading.title} has more than ${mostPages * perPage} of these: ask for one owner's`)
  const others = Array.from({ length: first.lastPage - 1 }, (_, at) => readPage(request, at + 2, reading))
  const rest = await Promise.all(others)
  return [first, ...rest].flatMap(({ items }) => items)
}

async function readPage<Item>(request: ListRequest<Item>, page: number, reading: Reading): Promise<Page<Item>> {
  const { octokit, signal, pages, accessId, title } = reading
  const key = `${accessId} ${request.route} ${JSON.stringify(request.parameters)} ${page}`
  const kept = pages.get<Item>(key)
  const headers = kept?.etag ? { 'if-none-match': kept.etag } : {}
  const parameters = { ...request.parameters, per_page: perPage, page, headers, request: { signal } }
  try {
    const answer = await octokit.request(request.route, parameters)
    const list = request.under ? (answer.data as Record<string, unknown> | null)?.[request.under] : answer.data
    if (!Array.isArray(list)) return nonsense(title, 'a list')
    const read: Page<Item> = {
      etag: answer.headers.etag ?? null,
      items: list.map((value) => request.from(value)),
      lastPage: lastPageIn(answer.headers.link, page),
    }
    if (read.etag) pages.set(key, read)
    return read
  } catch (error) {
    if (kept && error instanceof Error && 'status' in error && error.status === 304) return kept
    throw error
  }
}

/** Only the number is taken from it: nobody goes to an address that an answer names. */
function lastPageIn(link: string | undefined, page: number): number {
  const found = /[?&]page=(\d{1,6})[^>]*>\s*;\s*rel="last"/.exec(link ?? '')?.[1]
  return Math.max(found ? Number(found) : page, page)
}
