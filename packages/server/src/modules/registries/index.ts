import type { contract } from '@berth/contract'
import type { Handlers } from '../../http/handler.ts'
import { listResponse } from '../../platform/db/pages.ts'
import { openLogins, openLoginsOfEach, type RegistriesDeps, saveLogin, showLogin } from './logins.ts'
import { allLoginsOf, deleteLogin, findLoginOf, listLoginsOf } from './store.ts'

export type { RegistriesDeps } from './logins.ts'

/** Logins at image registries. Each belongs to an organisation and to one host, and its password is encrypted for that host. */
export function createRegistries(deps: RegistriesDeps) {
  const { db } = deps.database
  return {
    handlers: {
      list: async ({ query }, { caller }) => listResponse(await listLoginsOf(db, caller.organizationId, query), showLogin),
      save: async ({ body }, context) => {
        context.audit({ objectKind: 'registryLogin', made: 'reg' })
        const { login, isNew } = await saveLogin(body, context.caller.organizationId, deps)
        if (isNew) context.setStatus(201)
        return { data: login }
      },
      remove: async (_, { registryLogin }) => {
        await deleteLogin(db, registryLogin.id)
        return undefined
      },
    } satisfies Handlers<typeof contract.registries>,
    loaders: {
      registryLogin: ({ registryId }: Record<string, string>, { organizationId }: { organizationId: string }) =>
        findLoginOf(db, organizationId, registryId as string),
    },
    /** Logins for the images of an organisation's projects. */
    loginsOf: (organizationId: string) => openLogins(organizationId, deps),
    /** Hosts and user names, without passwords. */
    hostsOf: async (organizationId: string) =>
      (await allLoginsOf(db, [organizationId])).map(({ host, username }) => ({ host, username })),
    loginsOfEach: (organizationIds: readonly string[]) => openLoginsOfEach(organizationIds, deps),
  }
}
