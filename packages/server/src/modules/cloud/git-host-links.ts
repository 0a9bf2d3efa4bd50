import type { HandedTokens } from '@berth/contract'
import { fail } from '../../platform/failure.ts'
import { hashToken } from '../../platform/secrets/token.ts'
import type { CloudLinks } from '../git-host/index.ts'
import type { CloudDeps } from './deps.ts'
import type { Links } from './links.ts'
import { requestCloud } from './request-cloud.ts'

/** Git host logins through the linked cloud, for an instance without its own app at the host. */
export function gitHostLinks({ api }: Pick<CloudDeps, 'api'>, links: Links): CloudLinks {
  const addressOf = async (organizationId: string) => ((await links.of(organizationId)) ?? fail('cloud_not_linked')).address
  const installUrl = async (organizationId: string) => {
    const { status, body } = await requestCloud(api, await addressOf(organizationId), {
      method: 'GET',
      path: '/api/gitprovider/status',
    })
    return status === 200 ? (body.installUrl as string | null) : null
  }
  const post = async (organizationId: string, path: string, body: object) =>
    requestCloud(api, await addressOf(organizationId), {
      method: 'POST',
      path: `/api/gitprovider/handoffs${path}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const fetchTokens = async (organizationId: string, path: string, sent: object): Promise<HandedTokens> => {
    const { status, body } = await post(organizationId, path, sent)
    if (status === 200 && body?.data) return body.data
    // A 400 concerns the login itself; any other status is a problem of the link.
    const code = status === 400 ? 'no_source' : 'cloud_unreachable'
    return fail(code, { message: `The cloud did not provide a login: ${body?.error ?? `it answered ${status}`}` })
  }
  return {
    async linkOf(organizationId) {
      const link = await links.of(organizationId)
      return link && hashToken(`${link.row.url} ${link.row.remoteOrganizationId} ${link.row.linkedAt}`).slice(0, 16)
    },
    async startHandoff({ organizationId, ...wanted }) {
      const { status, body } = await post(organizationId, '', wanted)
      const url: unknown = body?.data?.url
      return status === 200 && typeof url === 'string' && /^https?:\/\//.test(url) ? url : null
    },
    collectHandoff: (organizationId, collection) => fetchTokens(organizationId, '/collect', collection),
    refreshHandoff: (organizationId, refresh) => fetchTokens(organizationId, '/refresh', refresh),
    isLinked: async (organizationId) => links.has(organizationId),
    installUrl,
    async connectUrl({ organizationId, provider, source }) {
      const { status, body } = await requestCloud(api, await addressOf(organizationId), {
        method: 'POST',
        path: `/api/gitprovider/connect?provider=${encodeURIComponent(provider)}`,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(source === 'oauth' ? { source } : {}),
      })
      const url: unknown = body?.url ?? (await installUrl(organizationId))
      if (typeof url === 'string' && /^https?:\/\//.test(url)) return url
      return fail('no_source', { message: `The cloud cannot connect to ${provider}: ${body?.error ?? `it answered ${status}`}` })
    },
  }
}
