import type { Access, GitHost, HostRepository } from './git-host.ts'

/** Frozen, so that values derived from it can be cached with it. */
const frozen = async (list: Promise<HostRepository[]>): Promise<HostRepository[]> => Object.freeze(await list) as HostRepository[]

/** Time for which a list of repositories is returned from cache; after it the host is asked whether it has changed. */
const maxAgeMs = 15_000
const maxLists = 300

interface CachedList {
  readAt: number
  list: Promise<HostRepository[]>
}

/**
 * The same host with cached lists of repositories: concurrent and repeated requests share one read. Repositories created or
 * deleted through it are visible at once.
 */
export function withListCache(host: GitHost, now: () => number = Date.now): GitHost {
  const lists = new Map<string, CachedList>()
  const forget = ({ id }: Access) => {
    for (const key of lists.keys()) if (key.startsWith(`${id} `)) lists.delete(key)
  }
  const cachedList = (key: string, read: () => Promise<HostRepository[]>): Promise<HostRepository[]> => {
    const cached = lists.get(key)
    if (cached && now() - cached.readAt < maxAgeMs) return cached.list
    const list = frozen(read())
    const reading = { readAt: now(), list }
    lists.delete(key)
    lists.set(key, reading)
    list.catch(() => {
      if (lists.get(key) === reading) lists.delete(key)
    })
    for (const oldest of lists.keys()) {
      if (lists.size <= maxLists) break
      lists.delete(oldest)
    }
    return list
  }
  return {
    ...host,
    repositories: (access, limits) => cachedList(`${access.id} `, () => host.repositories(access, limits)),
    repositoriesOf: (access, owner, limits) =>
      cachedList(`${access.id} ${owner.toLowerCase()}`, () => host.repositoriesOf(access, owner, limits)),
    createRepository: async (access, repository, limits) => {
      forget(access)
      return host.createRepository(access, repository, limits).finally(() => forget(access))
    },
    deleteRepository: async (access, name, limits) => host.deleteRepository(access, name, limits).finally(() => forget(access)),
  }
}
