import type { GitHostProvider, Repository } from '@berth/contract'
import type { HostRepository } from '../../../drivers/git-host/git-host.ts'
import { GitHostError } from '../../../drivers/git-host/git-host-error.ts'
import type { Caller } from '../../../http/handler.ts'
import { memoizeByRows } from '../../../platform/db/memoize-rows.ts'
import type { GitConnectionRow } from '../../../platform/db/tables/git-host.ts'
import { fail } from '../../../platform/failure.ts'
import {
  bestErrorOf,
  dropIfGone,
  sourcesFor,
  throughSource,
  throughSources,
  usableSources,
} from '../connections/through-sources.ts'
import type { GitHostDeps } from '../deps.ts'
import { allVisible, noAccessAdvice, visibilityFor } from '../visibility.ts'

/** A full list may take many pages. */
const limits = { timeoutMs: 30_000 }

export const showRepository = (repository: HostRepository, { source }: Pick<GitConnectionRow, 'source'>): Repository => ({
  ...repository,
  source,
})

/** Merges cached lists. Memoized, because its JSON text is cached with it, and serializing is the slowest part of a response. */
const mergeLists = memoizeByRows((...lists: [Repository[], ...Repository[][]]): { data: Repository[] } => {
  const repositories = new Map<string, Repository>()
  for (const one of lists.flat()) if (!repositories.has(one.id)) repositories.set(one.id, one)
  return { data: [...repositories.values()].sort((one, other) => compare(other.updatedAt ?? '', one.updatedAt ?? '')) }
})
const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)

const shownFrom = (source: GitConnectionRow['source']) =>
  memoizeByRows((list: HostRepository[]) => list.map((one) => showRepository(one, { source })))
const shown = { app: shownFrom('app'), oauth: shownFrom('oauth'), cli: shownFrom('cli') }

/** Repositories of all connections of the host, without duplicates, newest first. */
export async function listRepositories(
  caller: Caller,
  query: { owner?: string; provider?: GitHostProvider },
  deps: GitHostDeps,
): Promise<{ data: Repository[] }> {
  const sources = await usableSources(caller.organizationId, query.provider, deps)
  if (sources.length === 0) fail('no_source')
  const lists = await Promise.allSettled(sources.map((row) => listThrough(row, deps)))
  const [first, ...others] = lists.flatMap((list) => (list.status === 'fulfilled' ? [list.value] : []))
  // A failed connection does not hide the repositories of the others; if all fail, the first error is thrown.
  if (!first) throw (lists[0] as PromiseRejectedResult).reason
  const all = mergeLists(first, ...others)
  const isVisible = await visibilityFor(caller, deps)
  const owner = query.owner?.toLowerCase()
  if (isVisible === allVisible && !owner) return all
  return { data: all.data.filter((one) => isVisible(one.owner, one.name) && (!owner || one.owner.toLowerCase() === owner)) }
}

async function listThrough(source: GitConnectionRow, deps: GitHostDeps): Promise<Repository[]> {
  try {
    return await throughSource(source, deps, async (access, host, row) =>
      shown[row.source](await host.repositories(access, limits)),
    )
  } catch (error) {
    if (await dropIfGone(source, error, deps))
      throw new GitHostError('unauthorized', `The app was uninstalled from ${source.accountLogin}`)
    throw error
  }
}

/** Repositories of one organisation or account at the host. */
export async function listRepositoriesOf(
  caller: Caller,
  owner: string,
  provider: GitHostProvider | undefined,
  deps: GitHostDeps,
): Promise<Repository[]> {
  const all = await usableSources(caller.organizationId, provider, deps)
  if (all.length === 0) fail('no_source')
  const visible = await visibilityFor(caller, deps)
  const rows = sourcesFor(all, owner)
  // Only apps are connected, and none on this account: treat it as not existing.
  if (rows.length === 0) fail('not_found', { message: `No connected git account has access to ${owner}. ${noAccessAdvice}` })
  // An app may be installed on some repositories only: merge the lists of all connections.
  const lists = await Promise.allSettled(
    rows.map((source) =>
      throughSources([source], deps, async (access, host, row) => {
        const read = row.source === 'app' ? host.repositories(access, limits) : host.repositoriesOf(access, owner, limits)
        return (await read).map((one) => showRepository(one, row))
      }),
    ),
  )
  const read = lists.flatMap((list) => (list.status === 'fulfilled' ? [list.value] : []))
  if (read.length === 0) throw bestErrorOf(lists.map((list) => (list as PromiseRejectedResult).reason))
  const repositories = new Map<string, Repository>()
  for (const one of read.flat()) if (!repositories.has(one.id) && visible(one.owner, one.name)) repositories.set(one.id, one)
  return [...repositories.values()]
}
