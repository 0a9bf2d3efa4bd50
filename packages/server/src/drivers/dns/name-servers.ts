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

/**
 * DNS client with limits on everything that a user who names domains could make grow: time, concurrent queries, cached responses.
 */
export function createNameServers({ servers, cacheMs = 2_000, timeoutMs = 2_000, maxConcurrent = 32 }: NameServersSettings): Dns {
  const cache = new Map<string, CachedQuery>()
  let running = 0
  const request = async (name: string, abort: AbortSignal): Promise<readonly string[]> => {
    if (running >= maxConcurrent) throw new DnsUnanswered('Too many DNS lookups are running')
    running++
    try {
      return await queryNow(name, servers, timeoutMs, abort)
    } finally {
      running--
    }
  }
  return {
    txt(name, abort) {
      const cached = cache.get(name)
      if (cached && Date.now() - cached.at < cacheMs) return cached.answer
      if (cache.size >= maxCached) cache.clear()
      const answer = request(name, abort)
      cache.set(name, { at: Date.now(), answer })
      // Errors are not cached.
      answer.catch(() => cache.delete(name))
      return answer
    },
  }
}

async function queryNow(name: string, servers: readonly string[] | null, timeout: number, abort: AbortSignal) {
  const resolver = new Resolver({ timeout, tries: 2 })
  if (servers) resolver.setServers(servers)
  const cancel = () => resolver.cancel()
  abort.addEventListener('abort', cancel, { once: true })
  try {
    if (abort.aborted) throw abort.reason
    const records = await resolver.resolveTxt(name)
    return records.slice(0, maxRecords).map((pieces) => pieces.join(''))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code && noRecordCodes.has(code)) return []
    throw new DnsUnanswered(`The name servers did not answer for ${name}`, { cause: error })
  } finally {
    abort.removeEventListener('abort', cancel)
  }
}
