import type { contract, LocalLogin } from '@berth/contract'
import { hasPermission } from '@berth/contract'
import type { Caller, Handlers, RequestContext } from '../../http/handler.ts'
import { withApiFailures } from './api-failures.ts'
import { applicationHandlers } from './applications/handlers.ts'
import { connect, defaultProvider } from './connect/connect.ts'
import { pollDeviceLogin } from './connect/device-login.ts'
import { collectHandoff, refreshHandoff, refuseOutsideCloud, startHandoff } from './connect/handoff.ts'
import { finishConnect } from './connect/redirect.ts'
import { isThisMachine } from './connect/this-machine.ts'
import type { GitHostDeps } from './deps.ts'
import { disconnect } from './disconnect.ts'
import { checkedOwner } from './names.ts'
import { cloneToken } from './repositories/clone-token.ts'
import { getFile, listFiles } from './repositories/files.ts'
import { listRepositories, listRepositoriesOf } from './repositories/lists.ts'
import {
  createRepository,
  deleteRepository,
  getRepository,
  listBranches,
  type WantedRepository,
  withRepository,
} from './repositories/repositories.ts'
import { showHome, showStatus } from './status.ts'
import { deleteWebhook, listWebhooks, registerWebhook } from './webhooks/webhooks.ts'

/** Webhook deliveries are handled by the git-events module. */
type GitHostHandlers = Omit<Handlers<typeof contract.gitHost>, 'receiveWebhook'>

const wantedOf = ({
  params,
  query,
}: {
  params: WantedRepository['params']
  query: { provider?: WantedRepository['provider'] }
}): WantedRepository => ({
  params,
  provider: query.provider,
})

function handoffHandlers(deps: GitHostDeps): Pick<GitHostHandlers, 'startHandoff' | 'collectHandoff' | 'refreshHandoff'> {
  return {
    startHandoff: ({ body }, { caller, audit }) => {
      refuseOutsideCloud(deps)
      audit({ objectKind: 'gitConnection', objectId: body.provider })
      return { data: startHandoff(body, caller, deps) }
    },
    collectHandoff: async ({ body }, { caller }) => {
      refuseOutsideCloud(deps)
      return { data: await collectHandoff(body, caller, deps) }
    },
    refreshHandoff: async ({ body }) => {
      refuseOutsideCloud(deps)
      return { data: await refreshHandoff(body, deps) }
    },
  }
}

/** Every handler reads the stored applications first, so that a change by another control plane counts. */
export function gitHostHandlers(deps: GitHostDeps): GitHostHandlers {
  const fresh = Object.entries(allHandlers(deps)).map(([name, handle]) => [
    name,
    async (...input: unknown[]) => {
      await deps.live.refresh()
      return (handle as (...input: unknown[]) => unknown)(...input)
    },
  ])
  return Object.fromEntries(fresh) as GitHostHandlers
}

function allHandlers(deps: GitHostDeps): GitHostHandlers {
  const browserOf = (context: RequestContext) => ({ isThisMachine: isThisMachine(context, deps.publicUrl()) })
  return {
    status: ({ query }, context) => showStatus(context.caller, browserOf(context), query.provider, deps),
    home: ({ query }, { caller }) => showHome(caller, query.provider, deps),
    localStatus: async (_, { caller }) => ({ data: await localStatus(caller, deps) }),
    pollConnect: async ({ query }, { caller }) => ({
      data: await withApiFailures(pollDeviceLogin(caller, query.provider ?? defaultProvider(deps), deps)),
    }),
    connect: ({ body, query }, context) => {
      const provider = query.provider ?? defaultProvider(deps)
      context.audit({ objectKind: 'gitConnection', objectId: provider })
      return connect({ caller: context.caller, browser: browserOf(context), provider }, body, deps)
    },
    connectRedirect: async ({ query }, context) => {
      await finishConnect(query, context, deps)
      return undefined
    },
    ...handoffHandlers(deps),
    ...applicationHandlers(deps, browserOf),
    disconnect: async ({ body, query }, context) => {
      const source = body.source ?? query.source ?? 'all'
      context.audit({ objectKind: 'gitConnection', objectId: source })
      return { data: await disconnect(source, query.provider ?? null, context.caller, deps) }
    },
    listRepositories: ({ query }, { caller }) => withApiFailures(listRepositories(caller, query, deps)),
    createRepository: async ({ body, query }, context) => {
      context.audit({ objectKind: 'repository', objectId: body.owner ? `${body.owner}/${body.name}` : body.name })
      return { data: await withApiFailures(createRepository(body, query.provider, context.caller, deps)) }
    },
    listOrgRepositories: async ({ params, query }, { caller }) => ({
      data: await withApiFailures(listRepositoriesOf(caller, checkedOwner(params.org, 'org'), query.provider, deps)),
    }),
    getRepository: async (input, { caller }) => ({
      data: await withApiFailures(getRepository(wantedOf(input), input.query.branches ?? false, caller, deps)),
    }),
    deleteRepository: async (input, context) => {
      context.audit({ objectKind: 'repository', objectId: `${input.params.owner}/${input.params.repo}` })
      await withApiFailures(deleteRepository(wantedOf(input), context.caller, deps))
      return undefined
    },
    listBranches: async (input, { caller }) => ({ data: await withApiFailures(listBranches(wantedOf(input), caller, deps)) }),
    cloneToken: (input, { caller }) => withApiFailures(cloneToken(wantedOf(input), caller, deps)),
    listFiles: async (input, { caller }) => ({
      data: await withApiFailures(listFiles(wantedOf(input), input.query, caller, deps)),
    }),
    getFile: async (input, { caller }) => ({ data: await withApiFailures(getFile(wantedOf(input), input.query, caller, deps)) }),
    ...webhookHandlers(deps),
  }
}

function webhookHandlers(deps: GitHostDeps): Pick<GitHostHandlers, 'listWebhooks' | 'registerWebhook' | 'deleteWebhook'> {
  const on = <Result>(
    input: Parameters<typeof wantedOf>[0],
    caller: Caller,
    work: (location: Parameters<typeof registerWebhook>[0]) => Promise<Result>,
  ) =>
    withApiFailures(
      withRepository(wantedOf(input), caller, deps, (name, access, host, { provider }) =>
        work({ organizationId: caller.organizationId, provider, name, access, host }),
      ),
    )
  return {
    listWebhooks: async (input, { caller }) => ({
      data: await on(input, caller, (location) => listWebhooks(location, hasPermission(caller, 'gitprovider:admin'), deps)),
    }),
    registerWebhook: async (input, context) => {
      context.audit({ objectKind: 'webhook', objectId: `${input.params.owner}/${input.params.repo}` })
      const { webhook, isNew } = await on(input, context.caller, (location) => registerWebhook(location, deps))
      if (isNew) context.setStatus(201)
      return { data: webhook }
    },
    deleteWebhook: async (input, context) => {
      context.audit({ objectKind: 'webhook', objectId: `${input.params.owner}/${input.params.repo}` })
      await on(input, context.caller, (location) => deleteWebhook(location, input.body.hookId, deps))
      return undefined
    },
  }
}

/** State of the machine's login, shown only to the organisation that may use it. */
async function localStatus({ organizationId }: Caller, { localLogin, people }: GitHostDeps): Promise<LocalLogin> {
  const none = { available: false, login: null, host: localLogin?.host ?? null }
  if (!localLogin) return { ...none, reason: 'A cloud cannot use a command-line login' }
  if (!(await people.isOperatorsOrganization(organizationId)))
    return { ...none, reason: 'Only the organisation created at set-up can use the login of this machine' }
  return localLogin.state()
}
