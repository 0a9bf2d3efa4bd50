import type { Octokit } from 'octokit'
import { describe, expect, test } from 'vitest'
import { PageCache } from '../page-cache.ts'
import { readList } from './github-lists.ts'

/** Lists numbers in pages of 100 with an ETag of the items alone: a page keeps its ETag when a further page appears. */
function numberHost() {
  const host = { count: 0, requested: [] as number[] }
  const octokit = {
    request: async (_route: string, { page, headers }: { page: number; headers: Record<string, string> }) => {
      host.requested.push(page)
      const pages = Math.max(1, Math.ceil(host.count / 100))
      const data = Array.from({ length: Math.min(100, Math.max(0, host.count - (page - 1) * 100)) }, (_, at) => page * 1000 + at)
      const etag = `"${page} ${data.length}"`
      if (headers['if-none-match'] === etag) throw Object.assign(new Error('Not Modified'), { status: 304 })
      const link = page < pages ? `<https://host/items?page=${pages}>; rel="last"` : undefined
      return { data, headers: { etag, link } }
    },
  }
  const context = {
    octokit: octokit as unknown as Octokit,
    signal: new AbortController().signal,
    pages: new PageCache(),
    credentialId: 'cred_1',
    title: 'Numbers',
  }
  const read = () => readList({ route: 'GET /items', parameters: {}, from: Number }, context)
  return { host, read }
}

describe('a list whose pages are cached', () => {
  test.each([
    ['behind one full page', 100],
    ['behind two full pages', 200],
    ['on a page that was not full', 250],
  ])('contains items that were added %s', async (_, count) => {
    const { host, read } = numberHost()
    host.count = count
    expect(await read()).toHaveLength(count)
    host.count = count + 1
    expect(await read()).toHaveLength(count + 1)
    host.count = count + 301
    expect(await read()).toHaveLength(count + 301)
    host.count = count
    expect(await read()).toHaveLength(count)
  })

  test('is read without further requests if the last page is not full', async () => {
    const { host, read } = numberHost()
    host.count = 150
    await read()
    await read()
    expect(host.requested).toEqual([1, 2, 1, 2])
  })
})
