import type { TlsState } from '@berth/contract'
import type { DomainRow } from '../../platform/db/tables/projects.ts'
import { type EdgeRoutes, notSynced, type RouteStatus } from '../projects/index.ts'
import type { EdgePorts } from './edge-record.ts'
import { coverageOf, type EdgeState } from './edge-state.ts'

/** Where the state of the edge comes from: the sync of this process, or a copy of the worker's. */
interface StateSource {
  state(): EdgeState
  ports(): EdgePorts
  servesTls: boolean
}

export const edgeRoutes = (source: StateSource): Omit<EdgeRoutes, 'sync'> => ({
  routeStatus: (hostname, domain) => statusIn(source.state(), hostname, domain, source.servesTls),
  aliasOf(hostname) {
    const state = source.state()
    const alias = state.aliases.get(hostname)
    return alias !== undefined && coverageOf(state, alias) ? alias : null
  },
  revision: source.state,
  ports: source.ports,
})

function statusIn(
  state: EdgeState,
  hostname: string,
  domain: DomainRow | undefined,
  servesTls: boolean,
): RouteStatus | undefined {
  const { problem, hostnames, waiting, refused, uncertified } = state
  const { tls, reason } = servesTls ? tlsIn(state, hostname, domain) : withoutTls
  const missing = domain && waiting.get(domain.id)
  if (missing) return { tls: 'none', state: 'pending', reason: missing }
  const problemText = problem ?? refused.get(hostname)
  if (problemText) return { tls, state: 'error', reason: problemText }
  const unusable = tls === 'none' ? undefined : uncertified.get(hostname)
  if (unusable) return { tls: 'error', state: hostnames.has(hostname) ? 'synced' : 'pending', reason: unusable }
  if (hostnames.has(hostname)) return { tls, state: 'synced', ...(reason ? { reason } : {}) }
  return domain && { tls, state: 'pending', reason: reason ?? notSynced.reason }
}

const withoutTls = { tls: 'none', reason: null } as const

/** The certificate of a host name: of its domain row, else of the name that Berth assigned. */
function tlsIn(state: EdgeState, hostname: string, domain: DomainRow | undefined): { tls: TlsState; reason: string | null } {
  const coverage = coverageOf(state, hostname)
  const problemText = coverage && state.servedWrong.get(coverage === 'own' ? hostname : wildcardOf(hostname))
  if (problemText) return { tls: 'error', reason: problemText }
  if (domain) return { tls: domain.tls, reason: domain.reason === notSynced.reason ? null : domain.reason }
  const row = state.assigned.get(hostname)
  if (coverage) return { tls: 'active', reason: row?.tls === 'active' ? row.reason : null }
  return row && row.tls !== 'active' ? { tls: row.tls, reason: row.reason } : withoutTls
}

const wildcardOf = (hostname: string) => `*${hostname.slice(hostname.indexOf('.'))}`
