import type { BackupDestination } from '@berth/contract'
import { requireSuccess } from './cloud-answer.ts'
import type { CloudDeps } from './deps.ts'
import type { Links } from './links.ts'
import { requestCloud, requestWithAnyToken } from './request-cloud.ts'
import { linkedOrganizations } from './store.ts'

const maxClouds = 10
const withinMs = 5_000

/** Backups of projects in a linked cloud, for the backups module. */
export const backupsInCloud = (deps: CloudDeps, links: Links) => ({
  runInCloud: (webhookToken: string) => runInCloud(webhookToken, deps, links),
  async destinationsInCloud(organizationId: string, { projectId, limit, cursor }: DestinationsQuery) {
    const link = await links.of(organizationId)
    if (!link) return null
    const query = new URLSearchParams({ projectId, ...(limit ? { limit: String(limit) } : {}), ...(cursor ? { cursor } : {}) })
    const answer = await requestCloud(deps.api, link.address, { method: 'GET', path: `/api/backup-destinations?${query}` })
    if (answer.status === 404) return null
    const data = requireSuccess(answer) as BackupDestination[]
    return { data, nextCursor: (answer.body.nextCursor as string | null) ?? null }
  },
})

interface DestinationsQuery {
  projectId: string
  limit?: number
  cursor?: string
}

/** The caller has no account on this instance: each linked cloud is called with the caller's own token. */
async function runInCloud(webhookToken: string, { api, database }: CloudDeps, links: Links): Promise<string | null> {
  const clouds = new Map<string, boolean>()
  for (const organizationId of await linkedOrganizations(database.db)) {
    const address = (await links.of(organizationId))?.address
    if (address) clouds.set(address.url, clouds.get(address.url) || address.mayBeInside)
  }
  const abort = AbortSignal.timeout(withinMs)
  const runs = [...clouds].slice(0, maxClouds).map(async ([url, mayBeInside]) => {
    const address = { url, token: webhookToken, mayBeInside }
    const { status, body } = await requestWithAnyToken(api, address, { method: 'POST', path: '/api/webhooks/backup', abort })
    const runId: unknown = body?.data?.runId
    return status < 300 && typeof runId === 'string' && /^bkr_[a-z2-7]{20}$/.test(runId)
      ? runId
      : Promise.reject(new Error('none'))
  })
  return Promise.any(runs).catch(() => null)
}
