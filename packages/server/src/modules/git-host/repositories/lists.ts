import type { GitHostProvider, Repository } from '@berth/contract'
import type { HostRepository } from '../../../drivers/git-host/git-host.ts'
import { GitHostError } from '../../../drivers/git-host/git-host-error.ts'
import type { Caller } from '../../../http/handler.ts'
import type { GitConnectionRow } from '../../../platform/db/tables/git-host.ts'
import { fail } from '../../../platform/failure.ts'
import { dropIfGone, sourcesFor, throughSource, throughSources, usableSources } from '../connections/through-sources.ts'
import type { GitHostDeps } from '../deps.ts'
import { visibilityFor } from '../visibility.ts'

/** A whole list may take many pages. */
const limits = { timeoutMs: 30_000 }

export const showRepository = (repository: HostRepository, { source }: Pick<GitConnectionRow, 'source'>): Repository => ({
  ...repository,
  source,
})

/** What all sources of the host reach together, each repository once; newest first. */
export async function listRepositories(
  caller: Caller,
  query: { owner?: string; provider?: GitHostProvider },
  deps: GitHostDeps,
): Promise<Repository[]> {
  const sources = await usableSources(caller.organizationId, query.provider, deps)
  if (sources.length === 0) fail('no_source')
  const lists = await Promise.allSettled(sources.map((row) => listThrough(row, deps)))
  const read = lists.flatMap((list) => (list.status === 'fulfilled' ? [list.value] : []))
  // One source that is away does not hide what the others reach; when none answers, its trouble is the answer.
  if (read.length === 0) throw (lists[0] as PromiseRejectedResult).reason
  const visible = await visibilityFor(caller, deps)
  const { owner } = query
  return once(read.flat())
    .filter(({ owner: own, name }) => visible(own, name))
    .filter((one) => !owner || one.owner.toLowerCase() === owner.toLowerCase())
    .sort((one, other) => compare(other.updatedAt ?? '', one.updatedAt ?? ''))
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)

async function listThrough(source: GitConnectionRow, deps: GitHostDeps): Promise<Repository[]> {
  try {
    return await throughSource(source, deps, async (access, host, row) =>
      (await host.repositories(access, limits)).map((one) => showRepository(one, row)),
    )
  } catch (error) {
    if (await dropIfGone(source, error, deps))
      throw new GitHostError('unauthorized', `The app was uninstalled from ${source.accountLogin}`)
    throw error
  }
}

function once(repositories: Repository[]): Repository[] {
  const known = new Map<string, Repository>()
  for (const one of repositories) if (!known.has(one.id)) known.set(one.id, one)
  return [...known.values()]
}

/** Of an organisation or account at the host. */
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
  // Only apps, and none on this account: for us it does not exist.
  if (rows.length === 0) fail('not_found', { words: `No connected source reaches ${owner}` })
  const list = await throughSources(rows, deps, async (access, host, row) => {
    const read = row.source === 'app' ? host.repositories(access, limits) : host.repositoriesOf(access, owner, limits)
    return (await read).map((one) => showRepository(one, row))
  })
  return list.filter((one) => visible(one.owner, one.name))
}
