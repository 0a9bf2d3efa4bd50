import { Resolver } from 'node:dns/promises'
import { type Dns, DnsUnanswered } from './dns.ts'

export interface NameServersSettings {
  /** Addresses with port; null: those of the machine. */
  servers: readonly string[] | null
  /** How long a response is cached. */
  cacheMs?: number
  timeoutMs?: number
  maxConcurrent?: number
}

interface CachedQuery {
  at: number
  answer: Promise<readonly string[]>
}

const maxCached = 1_000
const maxRecords = 100
/** The name does not exist, or has no such record. */
const noRecordCodes = new Set(['ENOTFOUND', 'ENODATA'])

/** DNS client that limits time, concurrent queries and cached responses: users choose the names that it looks up. */
export function createNameServers({ servers, cacheMs = 2_000, timeoutMs = 2_000, maxConcurrent = 32 }: NameServersSettings): Dns {
  const cache = new Map<string, CachedQuery>()
  let running = 0
  const request = async (query: Query, name: string, abort: AbortSignal): Promise<readonly string[]> => {
    if (running >= maxConcurrent) throw new DnsUnanswered('Too many DNS lookups are running')
    running++
    try {
      return await queryNow(query, name, { servers, timeoutMs, abort })
    } finally {
      running--
    }
  }
  const lookUp = (kind: keyof typeof queries) => (name: string, abort: AbortSignal) => {
    const key = `${kind} ${name}`
    const cached = cache.get(key)
    if (cached && Date.now() - cached.at < cacheMs) return cached.answer
    if (cache.size >= maxCached) cache.clear()
    const answer = request(queries[kind], name, abort)
    cache.set(key, { at: Date.now(), answer })
    // Errors are not cached.
    answer.catch(() => cache.delete(key))
    return answer
  }
  return { txt: lookUp('txt'), addresses: lookUp('addresses') }
}

type Query = (resolver: Resolver, name: string) => Promise<string[]>

const queries = {
  txt: async (resolver, name) => (await emptyIfNone(resolver.resolveTxt(name))).map((pieces) => pieces.join('')),
  addresses: async (resolver, name) =>
    (await Promise.all([resolver.resolve4(name), resolver.resolve6(name)].map(emptyIfNone))).flat(),
} satisfies Record<string, Query>

const emptyIfNone = <T>(records: Promise<T[]>): Promise<T[]> =>
  records.catch((error: NodeJS.ErrnoException) => {
    if (error.code && noRecordCodes.has(error.code)) return []
    throw error
  })

interface QueryOptions {
  servers: readonly string[] | null
  timeoutMs: number
  abort: AbortSignal
}

async function queryNow(query: Query, name: string, { servers, timeoutMs: timeout, abort }: QueryOptions) {
  const resolver = new Resolver({ timeout, tries: 2 })
  if (servers) resolver.setServers(servers)
  const cancel = () => resolver.cancel()
  abort.addEventListener('abort', cancel, { once: true })
  try {
    if (abort.aborted) throw abort.reason
    return (await query(resolver, name)).slice(0, maxRecords)
  } catch (error) {
    throw new DnsUnanswered(`The name servers did not answer for ${name}`, { cause: error })
  } finally {
    abort.removeEventListener('abort', cancel)
  }
}
