import type { HostKey, SshTarget, SshTargets } from '../../drivers/shell/ssh/ssh-target.ts'
import { sealedFor } from '../../platform/db/sealed-columns.ts'
import type { ServerRow } from '../../platform/db/tables/servers.ts'
import { validatedAddress } from './addresses.ts'
import type { ServersDeps } from './deps.ts'
import { findServer, listAllServers, pinHostKey } from './store.ts'

/** The stored servers as targets of SSH connections. */
export const sshTargets = (deps: ServersDeps): SshTargets => ({
  async find(serverId) {
    const row = await findServer(deps.database.db, serverId)
    return row && targetOf(row, deps)
  },
  ids: async () => (await listAllServers(deps.database.db)).map(({ id }) => id),
})

function targetOf(row: ServerRow, deps: ServersDeps): SshTarget {
  const { name, host, port, user, dockerSocket, hostKeyType } = row
  return {
    ...{ name, host, port, user, dockerSocket, hostKeyType },
    credential: openCredential(row, deps),
    resolve: (abort) => validatedAddress(host, row.mayBeHere === 1, deps.settings.mode, abort),
    async acceptHostKey(key: HostKey) {
      // Read again: another process may have pinned a key meanwhile, or a user has reset it.
      const pinned = await pinHostKey(deps.database.db, row, key)
      if (pinned === key.fingerprint) return null
      if (pinned === null) return `${name} was changed or removed and is no longer at ${host}:${port}`
      return `The host key of ${name} (${host}:${port}) has changed from ${pinned} to ${key.fingerprint}. Nothing was sent to it. If the server was set up anew, forget the old key by setting hostKey to null; else an attacker may be intercepting the connection`
    },
  }
}

function openCredential({ id, authentication, credential }: ServerRow, deps: ServersDeps): SshTarget['credential'] {
  if (authentication === 'none' || credential === null) return null
  const secret = deps.secretBox.open(credential, sealedFor.serverCredential(id))
  deps.scrubber.register(secret)
  return authentication === 'privateKey' ? { privateKey: secret } : { password: secret }
}
