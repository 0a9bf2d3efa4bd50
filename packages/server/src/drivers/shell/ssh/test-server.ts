import { userInfo } from 'node:os'
import { Secret } from '../../../platform/secrets/secret.ts'
import { createServerLinks } from './server-links.ts'
import type { HostKey, SshTarget } from './ssh-target.ts'

/** Test support: links with one server, `srv`, and a test's changes to it. The first host key is pinned, as usual. */
export function linksTo(
  address: { host: string; port: number; user: string; privateKey: string },
  dockerSocket: string,
  changes: Partial<SshTarget> = {},
) {
  let pinned: HostKey | undefined
  const target: SshTarget = {
    name: 'box',
    host: address.host,
    port: address.port,
    user: address.user,
    credential: { privateKey: new Secret(address.privateKey) },
    dockerSocket,
    hostKeyType: null,
    resolve: async () => address.host,
    async acceptHostKey(key) {
      pinned ??= key
      return key.fingerprint === pinned.fingerprint ? null : `changed from ${pinned.fingerprint} to ${key.fingerprint}`
    },
    ...changes,
  }
  const links = createServerLinks()
  links.readFrom({ find: async (id) => (id === 'srv' ? target : undefined), ids: async () => ['srv'] })
  return { links, link: links.for('srv'), target, pinned: () => pinned }
}

export const currentUser = () => userInfo().username
