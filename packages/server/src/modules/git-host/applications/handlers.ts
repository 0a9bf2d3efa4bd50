import type { contract, GitHostProvider } from '@berth/contract'
import type { Handlers, RequestContext } from '../../../http/handler.ts'
import { fail } from '../../../platform/failure.ts'
import type { Browser } from '../connect/state.ts'
import type { GitHostDeps } from '../deps.ts'
import { isGitHostProvider } from '../hosts/host-titles.ts'
import { listApplications, removeApplication, saveApplication } from './applications.ts'
import { convertManifest, startManifest } from './manifest.ts'

type ApplicationHandlers = Pick<
  Handlers<typeof contract.gitHost>,
  'listApplications' | 'saveApplication' | 'removeApplication' | 'startManifest' | 'convertManifest'
>

const providerOf = ({ provider }: { provider: string }): GitHostProvider =>
  isGitHostProvider(provider)
    ? provider
    : fail('not_found', { message: `Git host ${JSON.stringify(provider)} is not supported. Use github, gitlab or gitea.` })

export function applicationHandlers(deps: GitHostDeps, browserOf: (context: RequestContext) => Browser): ApplicationHandlers {
  return {
    listApplications: async () => ({ data: await listApplications(deps) }),
    saveApplication: async ({ params, body }, context) => {
      const provider = providerOf(params)
      context.audit({ objectKind: 'gitApplication', objectId: provider })
      return { data: await saveApplication(provider, body, context.caller, deps) }
    },
    removeApplication: async ({ params }, context) => {
      const provider = providerOf(params)
      context.audit({ objectKind: 'gitApplication', objectId: provider })
      await removeApplication(provider, deps)
      return undefined
    },
    startManifest: ({ body }, context) => {
      context.audit({ objectKind: 'gitApplication', objectId: 'github' })
      return { data: startManifest(body, context.caller, deps) }
    },
    convertManifest: async ({ body }, context) => {
      context.audit({ objectKind: 'gitApplication', objectId: 'github' })
      return { data: await convertManifest(body, context.caller, browserOf(context), deps) }
    },
  }
}
