import type { contract } from '@berth/contract'
import type { Handlers, RequestContext } from '../../http/handler.ts'
import { clientOf } from '../../platform/address-set.ts'
import { thenSync } from '../../platform/awaitable.ts'
import { listResponse } from '../../platform/db/pages.ts'
import { fail } from '../../platform/failure.ts'
import type { AccessDeps } from './deps.ts'
import { setUp } from './first-start.ts'
import { setGrant } from './grants.ts'
import { acceptInvitation, invite } from './invitations.ts'
import { changeRole, removeMember } from './members.ts'
import { deleteOrganization, updateOrganization } from './organizations.ts'
import { addPasskey, beginPasskey, listPasskeys, passkeyOptions, showPasskey, signInWithPasskey } from './passkeys.ts'
import { requestPasswordReset, resetPassword } from './password-reset.ts'
import { insertMember, insertOrganization } from './people.ts'
import { type Attempt, knownDevice } from './prove-password.ts'
import { quotasOf, refuseTooManyOrganizations, setQuotas } from './quotas.ts'
import { randomCode } from './random-code.ts'
import { beginTotp, confirmTotp, removeTotp, totpStatus } from './second-factor.ts'
import { deviceCookie, sessionCookie } from './session-cookie.ts'
import { changePassword, listSessions, sessionClientOf, showSession } from './sessions.ts'
import { describeNewSession, describeSession, endSession, type openSession, signIn } from './sign-in.ts'
import { completeSignUp, inviteToSignUp, requestSignUp } from './sign-up.ts'
import { refuseSecondOrganization } from './single-user.ts'
import * as store from './store.ts'
import { createToken } from './tokens.ts'

export function accessHandlers(deps: AccessDeps): Handlers<typeof contract.access> {
  const { db } = deps.database
  const start = async (session: Awaited<ReturnType<typeof openSession>>, context: RequestContext) => {
    const answer = await describeNewSession(db, session, deps.clock.now().getTime())
    context.setHeader('set-cookie', sessionCookie.set(session.cookie, context.secure))
    context.setHeader('set-cookie', deviceCookie.set(knownDevice(randomCode(20), answer.data.user.email, deps), context.secure))
    return answer
  }

  const deviceOf = ({ headers, secure }: RequestContext) => deviceCookie.read(headers.cookie as string | undefined, secure)

  /** An attempt of a signed-in caller, which counts for the limits of signing in. */
  const attemptOf = (context: RequestContext): Attempt => ({
    email: context.caller.email,
    device: deviceOf(context),
    countedClient: clientOf(context.ip),
  })
  const auditUser = ({ audit, caller }: RequestContext) => audit({ objectKind: 'user', objectId: caller.userId })

  return {
    login: async ({ body }, context) =>
      start(await signIn({ ...body, device: deviceOf(context), client: sessionClientOf(context) }, deps), context),
    logout: async (_, context) => {
      // A project's page may be same-site with the dashboard: it must not be able to sign users out.
      if (context.isCrossOrigin)
        fail('forbidden', { message: 'Sign-out was blocked: the Origin header does not match this instance' })
      const cookie = sessionCookie.read(context.headers.cookie as string | undefined, context.secure)
      if (cookie) await endSession(db, cookie)
      context.setHeader('set-cookie', sessionCookie.clear(context.secure))
      return undefined
    },
    session: (_, { caller }) => describeSession(db, caller),
    setup: async ({ body }, context) =>
      start((await setUp({ ...body, client: sessionClientOf(context) }, deps)).session, context),
    signUp: async ({ body }, { ip }) => ({ data: await requestSignUp({ email: body.email, client: clientOf(ip) }, deps) }),
    completeSignUp: async ({ body }, context) =>
      start(await completeSignUp({ ...body, client: sessionClientOf(context) }, deps), context),
    inviteToSignUp: async ({ body }, { caller, audit }) => {
      audit({ objectKind: 'signUp', made: 'inv' })
      return { data: await inviteToSignUp(body.email, caller, deps) }
    },

    changePassword: async ({ body }, context) => {
      auditUser(context)
      return { data: await changePassword(body, context.caller, attemptOf(context), deps) }
    },
    requestPasswordReset: async ({ body }) => ({ data: await requestPasswordReset(body.email, deps) }),
    resetPassword: async ({ body }) => ({ data: await resetPassword(body, deps) }),
    listSessions: async ({ query }, { caller }) =>
      listResponse(await listSessions(db, caller.userId, deps.clock.now().getTime(), query), showSession(caller)),
    endSession: async (_, { session }) => {
      await db.deleteFrom('sessions').where('id', '=', session.id).execute()
      return undefined
    },
    totpStatus: async (_, { caller }) => ({ data: await totpStatus(caller, deps) }),
    beginTotp: async (_, context) => {
      auditUser(context)
      return { data: await beginTotp(context.caller, deps) }
    },
    confirmTotp: async ({ body }, context) => {
      auditUser(context)
      return { data: { recoveryCodes: await confirmTotp(body.code, context.caller, attemptOf(context), deps) } }
    },
    removeTotp: async ({ body }, context) => {
      auditUser(context)
      await removeTotp(body.code, context.caller, attemptOf(context), deps)
      return undefined
    },

    listPasskeys: async ({ query }, { caller }) => listResponse(await listPasskeys(db, caller.userId, query), showPasskey),
    beginPasskey: async ({ body }, context) => {
      auditUser(context)
      return { data: await beginPasskey(body, context.caller, context, attemptOf(context), deps) }
    },
    addPasskey: async ({ body }, context) => {
      context.audit({ objectKind: 'passkey', made: 'psk' })
      return { data: showPasskey(await addPasskey(body, context.caller, context, deps)) }
    },
    removePasskey: async (_, { passkey }) => {
      await db.deleteFrom('passkeys').where('id', '=', passkey.id).execute()
      return undefined
    },
    passkeyOptions: () => ({ data: passkeyOptions(deps) }),
    signInWithPasskey: async ({ body }, context) =>
      start(await signInWithPasskey(body.credential, context, sessionClientOf(context), deps), context),

    listTokens: ({ query }, { caller }) =>
      thenSync(store.listTokens(db, caller.userId, caller.organizationId, query), store.showTokens),
    createToken: async ({ body }, context) => {
      context.audit({ objectKind: 'token', made: 'tok' })
      return { data: await createToken(body, context.caller, deps) }
    },
    revokeToken: async (_, { token }) => {
      await db.deleteFrom('tokens').where('id', '=', token.id).execute()
      return undefined
    },

    listOrganizations: async ({ query }, { caller }) =>
      listResponse(await store.listOrganizations(db, caller.userId, query), (row) => store.showOrganization(row, row.role)),
    createOrganization: async ({ body }, context) => {
      refuseSecondOrganization(deps)
      context.audit({ objectKind: 'organization', made: 'org' })
      const now = deps.clock.now().getTime()
      const created = await deps.database.transaction(async ({ db, lock }) => {
        await refuseTooManyOrganizations({ db, lock }, context.caller, deps)
        const row = await insertOrganization(db, body.name, now)
        await insertMember(db, row.id, context.caller.userId, 'owner', now)
        return row
      })
      return { data: store.showOrganization(created, 'owner') }
    },
    getOrganization: async (_, { organization, caller }) => ({
      data: { ...store.showOrganization(organization, caller.role), quotas: await quotasOf(organization.id, deps) },
    }),
    getQuotas: async ({ params }) => ({ data: await quotasOf(params.organizationId, deps) }),
    setQuotas: async ({ params, body }, { audit }) => {
      audit({ objectKind: 'organization', objectId: params.organizationId })
      await setQuotas(params.organizationId, body, deps)
      return { data: await quotasOf(params.organizationId, deps) }
    },
    updateOrganization: async ({ body }, { organization, caller }) => {
      const changed = await updateOrganization(organization, body, caller, deps)
      return { data: store.showOrganization(changed, caller.role) }
    },
    deleteOrganization: async (_, { organization }) => {
      await deleteOrganization(organization, deps)
      return undefined
    },

    listMembers: async ({ query }, { caller }) =>
      listResponse(await store.listMembers(db, caller.organizationId, query), store.showMember(caller)),
    updateMember: async ({ body }, { member, caller }) => ({ data: await changeRole(member, body.role, caller, deps) }),
    removeMember: async (_, { member, caller }) => {
      await removeMember(member, caller, deps)
      return undefined
    },

    listInvitations: async ({ query }, { caller }) =>
      listResponse(
        await store.listInvitations(db, caller.organizationId, deps.clock.now().getTime(), query),
        store.showInvitation,
      ),
    createInvitation: async ({ body }, context) => {
      context.audit({ objectKind: 'invitation', made: 'inv' })
      return { data: await invite(body, context.caller, deps) }
    },
    revokeInvitation: async (_, { invitation }) => {
      await db.deleteFrom('invitations').where('id', '=', invitation.id).execute()
      return undefined
    },
    acceptInvitation: async ({ body }, context) => {
      const { session } = await acceptInvitation({ ...body, device: deviceOf(context), client: sessionClientOf(context) }, deps)
      return start(session, context)
    },

    listGrants: async ({ query }, { project }) => listResponse(await store.listGrants(db, project.id, query), store.showGrant),
    setGrant: async ({ body }, { project }) => {
      await setGrant(project, body, deps)
      return listResponse(await store.listGrants(db, project.id, {}), store.showGrant)
    },

    auditLog: ({ query }, { caller }) => thenSync(store.listAudit(db, caller.organizationId, query), store.auditList),
  }
}
