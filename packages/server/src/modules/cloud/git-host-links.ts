import { fail } from '../../platform/failure.ts'
import type { CloudLinks } from '../git-host/index.ts'
import { ask } from './ask.ts'
import type { CloudDeps } from './deps.ts'
import type { Links } from './links.ts'

/** Where an instance has no app of its own at a git host, the cloud that it is linked to says where to go. */
export function gitHostLinks({ api }: Pick<CloudDeps, 'api'>, links: Links): CloudLinks {
  const addressOf = async (organizationId: string) => ((await links.of(organizationId)) ?? fail('cloud_not_linked')).address
  const installUrl = async (organizationId: string) => {
    const { status, body } = await ask(api, await addressOf(organizationId), { method: 'GET', path: '/api/gitprovider/status' })
    return status === 200 ? (body.installUrl as string | null) : null
  }
  return {
    isLinked: async (organizationId) => links.has(organizationId),
    installUrl,
    async connectUrl({ organizationId, provider, source }) {
      const { status, body } = await ask(api, await addressOf(organizationId), {
        method: 'POST',
        path: `/api/gitprovider/connect?provider=${encodeURIComponent(provider)}`,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(source === 'oauth' ? { source } : {}),
      })
      const url: unknown = body?.url ?? (await installUrl(organizationId))
      if (typeof url === 'string' && /^https?:\/\//.test(url)) return url
      return fail('no_source', { words: `The cloud has no way to ${provider}: ${body?.error ?? `it answered ${status}`}` })
    },
  }
}
