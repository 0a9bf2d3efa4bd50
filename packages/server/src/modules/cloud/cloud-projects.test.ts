import { Readable } from 'node:stream'
import { describe, expect, test, vi } from 'vitest'
import type { CloudRequest } from '../../drivers/cloud-api/cloud-api.ts'
import { cloudProjects } from './cloud-projects.ts'
import type { CloudDeps } from './deps.ts'
import type { Links } from './links.ts'

interface Row {
  id: string
  createdAt: string
  padding: string
}

const rows = (count: number, paddingOf: (at: number) => number = () => 0): Row[] =>
  Array.from({ length: count }, (_, at) => ({
    id: `prj_${at}`,
    createdAt: '2026-01-01T00:00:00.000Z',
    padding: 'x'.repeat(paddingOf(at)),
  }))

/** Lists the projects of a cloud with these rows, whose cursor is the position in the list. */
async function listFrom(all: readonly Row[], maxPageSize = Number.POSITIVE_INFINITY) {
  const limits: number[] = []
  const warn = vi.fn()
  const send = async (_address: unknown, { path }: CloudRequest) => {
    const query = new URL(path, 'http://cloud').searchParams
    const limit = Number(query.get('limit'))
    limits.push(limit)
    const from = Number(query.get('cursor') ?? 0)
    const end = from + Math.min(limit, maxPageSize)
    const body = { data: all.slice(from, end), nextCursor: end < all.length ? String(end) : null }
    return { status: 200, headers: {}, body: Readable.from([Buffer.from(JSON.stringify(body))]) }
  }
  const links = { of: async () => ({ address: { url: 'http://cloud', token: 't', mayBeInside: true } }) }
  const { list } = cloudProjects({ api: { send }, log: { warn } } as unknown as CloudDeps, links as unknown as Links)
  const { reachable, projects } = await list({ organizationId: 'org_1', projectIds: null })
  return { reachable, ids: projects.map(({ id }) => id), limits, warn }
}

describe('the projects in the cloud', () => {
  test('are all listed, also after a page that exceeded the size limit', async () => {
    const all = rows(1000, (at) => (at < 20 ? 60_000 : 0))
    const { reachable, ids, limits } = await listFrom(all)
    expect(reachable).toBe(true)
    expect(ids).toEqual(all.map(({ id }) => id))
    expect(Math.min(...limits)).toBeGreaterThanOrEqual(10)
    expect(limits.at(-1)).toBe(200)
  })

  test('are never listed in part: with more pages than requests the cloud counts as unreachable', async () => {
    const { reachable, ids, warn } = await listFrom(rows(150), 1)
    expect([reachable, ids]).toEqual([false, []])
    expect(warn.mock.calls[0]?.[0].err.message).toBe('the cloud lists more projects than 40 requests can read')
  })
})
