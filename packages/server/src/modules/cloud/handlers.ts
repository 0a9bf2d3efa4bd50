import type { CloudLink, contract } from '@berth/contract'
import type { Handlers } from '../../http/handler.ts'
import { iso, isoOrNull } from '../../platform/db/columns.ts'
import { sealedFor } from '../../platform/db/sealed-columns.ts'
import type { CloudDeps } from './deps.ts'
import type { Link, Links } from './links.ts'
import { isReachable, proveAccount } from './prove-account.ts'
import { deleteLink, saveLink } from './store.ts'

const notLinked: CloudLink = {
  linked: false,
  url: null,
  reachable: null,
  organizationId: null,
  linkedAt: null,
  tokenExpiresAt: null,
}

export function cloudHandlers(deps: CloudDeps, links: Links): Omit<Handlers<typeof contract.cloud>, 'transfer'> {
  const { database, secretBox, clock } = deps
  return {
    link: async ({ body }, { caller }) => {
      const { organizationId, userId } = caller
      const mayBeInside = await deps.isOperator(caller)
      const url = body.url.replace(/\/+$/, '')
      const account = await proveAccount(deps.api, { url, token: body.token, mayBeInside })
      const row = {
        organizationId,
        url,
        token: secretBox.seal(body.token, sealedFor.cloudToken(organizationId)),
        tokenLastFour: body.token.slice(-4),
        remoteOrganizationId: account.organizationId,
        tokenExpiresAt: account.expiresAt,
        mayBeInside: mayBeInside ? (1 as const) : (0 as const),
        linkedBy: userId,
        linkedAt: clock.now().getTime(),
        feedPosition: null,
      }
      await database.transaction(({ db }) => saveLink(row, db))
      links.changed(organizationId)
      return { data: show({ row }, true) }
    },
    getLink: async (_, { caller }) => {
      const link = await links.of(caller.organizationId)
      return { data: link ? show(link, await isReachable(deps.api, link.address)) : notLinked }
    },
    unlink: async (_, { caller }) => {
      await database.transaction(({ db }) => deleteLink(db, caller.organizationId))
      links.changed(caller.organizationId)
    },
  }
}

function show({ row }: Pick<Link, 'row'>, reachable: boolean): CloudLink {
  return {
    linked: true,
    url: row.url,
    reachable,
    organizationId: row.remoteOrganizationId,
    linkedAt: iso(row.linkedAt),
    tokenExpiresAt: isoOrNull(row.tokenExpiresAt),
  }
}
