import type { Server, ServerBody, ServerChanges } from '@berth/contract'
import { checkPrivateKey } from '../../drivers/shell/ssh/check-private-key.ts'
import type { Caller } from '../../http/handler.ts'
import { iso, isoOrNull } from '../../platform/db/columns.ts'
import { newId } from '../../platform/db/ids.ts'
import { sealedFor } from '../../platform/db/sealed-columns.ts'
import type { ServerRow } from '../../platform/db/tables/servers.ts'
import { fail, refuse } from '../../platform/failure.ts'
import { isOwnMachineByName } from './addresses.ts'
import { nowOf, type ServersDeps } from './deps.ts'
import { deleteServer, findServer, insertServer, updateServerAt } from './store.ts'

/** A server was changed or removed: all control planes close connections made with its previous settings. */
export const serversTopic = 'servers'
export interface ServerSignal {
  changed: string
}

const defaults = { port: 22, user: 'root', dockerSocket: '/var/run/docker.sock' }

/** Records a server; nothing is contacted. */
export async function createServer(body: ServerBody, caller: Caller, deps: ServersDeps): Promise<Server> {
  const id = newId('srv')
  const now = nowOf(deps)
  const row: ServerRow = {
    id,
    organizationId: caller.organizationId,
    name: body.name.trim(),
    host: body.host,
    port: body.port ?? defaults.port,
    user: body.user ?? defaults.user,
    ...((await credentialColumns(id, body, deps)) ?? { authentication: 'none', credential: null }),
    dockerSocket: body.dockerSocket ?? defaults.dockerSocket,
    hostKey: null,
    hostKeyType: null,
    mayBeHere: await mayBeHere(body.host, caller, deps),
    status: 'unknown',
    statusReason: null,
    checkedAt: null,
    createdAt: now,
    updatedAt: now,
  }
  await insertServer(deps.database.db, row)
  return showServer(row)
}

/** Changes the given fields. A stored credential is never sent to another host, port or user than it was given for. */
export async function changeServer(server: ServerRow, body: ServerChanges, caller: Caller, deps: ServersDeps): Promise<Server> {
  const moves = isOther(body.host, server.host) || isOther(body.port, server.port)
  const credential = await credentialColumns(server.id, body, deps)
  if ((moves || isOther(body.user, server.user)) && server.authentication !== 'none' && !credential)
    refuse(server.authentication, 'must be sent again with a new host, port or user')
  const { name, host, port, user, dockerSocket } = body
  const changes = {
    ...(name === undefined ? {} : { name: name.trim() }),
    ...(host === undefined ? {} : { host, mayBeHere: await mayBeHere(host, caller, deps) }),
    ...(port === undefined ? {} : { port }),
    ...(user === undefined ? {} : { user }),
    ...(dockerSocket === undefined ? {} : { dockerSocket }),
    ...credential,
    // Another host has another key.
    ...(moves || body.hostKey === null ? { hostKey: null, hostKeyType: null } : {}),
    ...(moves || credential ? { status: 'unknown' as const, statusReason: null } : {}),
    updatedAt: nowOf(deps),
  }
  return deps.database.transaction(async ({ db, signal }) => {
    // A key that was sent for one host must not be combined with a host that another request sent concurrently.
    const row =
      (await updateServerAt(db, server, changes)) ??
      fail('conflict', { message: 'Another user changed the host, port or user of this server a moment ago. Read it again.' })
    signal(serversTopic, { changed: server.id } satisfies ServerSignal)
    return showServer(row)
  })
}

const isOther = <T>(wanted: T | undefined, now: T) => wanted !== undefined && wanted !== now

export async function removeServer({ id, name }: ServerRow, deps: ServersDeps): Promise<void> {
  await deps.database.transaction(async ({ db, signal }) => {
    const uses = (await deps.ports.usesOf?.(db, id)) ?? []
    if (uses.length > 0)
      fail('server_in_use', {
        message: `${name} is still in use: ${uses.slice(0, 5).join(', ')}. Delete these, or move the projects to another server.`,
      })
    await deleteServer(db, id)
    signal(serversTopic, { changed: id } satisfies ServerSignal)
  })
}

/** Undefined when the body names no credential. */
async function credentialColumns(id: string, { privateKey, password }: Partial<ServerBody>, deps: ServersDeps) {
  if (privateKey && password) refuse('password', 'send either a private key or a password, not both')
  if (privateKey) {
    const problem = await checkPrivateKey(privateKey)
    if (problem) refuse('privateKey', problem)
  }
  const newSecret = privateKey ?? password
  if (newSecret) {
    deps.scrubber.register(newSecret)
    const authentication = privateKey ? ('privateKey' as const) : ('password' as const)
    return { authentication, credential: deps.secretBox.seal(newSecret, sealedFor.serverCredential(id)) }
  }
  return privateKey === null || password === null ? { authentication: 'none' as const, credential: null } : undefined
}

/**
 * Whether the server may be this machine. Resolved addresses are checked at each connection; names of this machine are refused
 * here already.
 */
async function mayBeHere(host: string, caller: Caller, { isOperator, settings }: ServersDeps): Promise<0 | 1> {
  const isAllowed = await isOperator(caller)
  if (!isAllowed && isOwnMachineByName(host, settings.mode))
    fail('forbidden', {
      field: 'host',
      message: `${host} is this machine or in its network. Only an operator of the instance can do this: an owner or admin of the organisation created at set-up.`,
    })
  return isAllowed ? 1 : 0
}

export const showServer = (row: ServerRow): Server => {
  const { id, name, host, port, user, authentication, dockerSocket, hostKey, status, statusReason } = row
  const times = { checkedAt: isoOrNull(row.checkedAt), createdAt: iso(row.createdAt), updatedAt: iso(row.updatedAt) }
  return { ...{ id, name, host, port, user, authentication, dockerSocket, hostKey, status, statusReason }, ...times }
}

export const hasServer = async (db: ServersDeps['database']['db'], organizationId: string, id: string): Promise<boolean> =>
  (await findServer(db, id))?.organizationId === organizationId
