import { createHash } from 'node:crypto'
import { Secret } from '../../platform/secrets/secret.ts'
import { openSsh } from '../shell/ssh/open-ssh.ts'
import { ServerUnreachable } from '../shell/ssh/server-unreachable.ts'
import { type SftpFiles, sftpFiles } from '../shell/ssh/sftp-files.ts'
import { SshConnection } from '../shell/ssh/ssh-connection.ts'
import type { SshTarget } from '../shell/ssh/ssh-target.ts'
import type { AddressGuard } from './address-guard.ts'
import type { SftpConfig } from './archive-store.ts'
import { StoreFailure } from './store-failure.ts'

/** A connection that is opened on demand, and again after it was lost. */
export class SftpLink {
  readonly #config: SftpConfig
  readonly #guard: AddressGuard
  #connection: Promise<SshConnection> | undefined

  constructor(config: SftpConfig, guard: AddressGuard) {
    this.#config = config
    this.#guard = guard
  }

  async files(abort: AbortSignal): Promise<SftpFiles> {
    try {
      const connection = await this.#connected(abort)
      return sftpFiles(await connection.sftp(abort))
    } catch (error) {
      abort.throwIfAborted()
      throw linkFailure(error)
    }
  }

  async close(): Promise<void> {
    const connection = this.#connection
    this.#connection = undefined
    await connection?.then((one) => one.close()).catch(() => undefined)
  }

  async #connected(abort: AbortSignal): Promise<SshConnection> {
    const existing = await this.#connection?.catch(() => undefined)
    if (existing && !existing.isClosed) return existing
    const opening = this.#open(abort)
    this.#connection = opening
    // Concurrent callers wait for the same connection; a failed one is discarded.
    opening.catch(() => {
      if (this.#connection === opening) this.#connection = undefined
    })
    return opening
  }

  async #open(abort: AbortSignal): Promise<SshConnection> {
    const pinned = this.#config.hostKey && fingerprintOf(this.#config.hostKey)
    const verifyKey = async (fingerprint: string) => {
      if (!pinned) return `The host key of ${this.#config.host} is not pinned yet. Check the destination first.`
      if (fingerprint === pinned) return null
      return `${this.#config.host} has the host key ${fingerprint} instead of ${pinned}. If the server was reinstalled, enter its new key. Otherwise the connection may be intercepted.`
    }
    const { password, privateKey } = this.#config
    const credential = privateKey ? { privateKey } : password ? { password } : null
    const client = await openSsh(await targetOf(this.#config, this.#guard, { credential, accept: verifyKey }), abort)
    return new SshConnection(client, () => undefined)
  }
}

/** Reads only the host key: no login is sent. */
export async function hostKeyOf(
  config: Pick<SftpConfig, 'host' | 'port'>,
  guard: AddressGuard,
  abort: AbortSignal,
): Promise<string> {
  let seen: string | undefined
  const accept = async (fingerprint: string) => {
    seen = fingerprint
    return 'only the host key was requested'
  }
  const credential = { password: new Secret('') }
  try {
    await openSsh(await targetOf({ ...config, user: 'berth' }, guard, { credential, accept }), abort)
  } catch (error) {
    abort.throwIfAborted()
    if (!seen) throw linkFailure(error)
  }
  return seen!
}

async function targetOf(
  { host, port, user }: Pick<SftpConfig, 'host' | 'port' | 'user'>,
  guard: AddressGuard,
  { credential, accept }: { credential: SshTarget['credential']; accept: (fingerprint: string) => Promise<string | null> },
): Promise<SshTarget> {
  const [address] = await guard.addressesOf(host)
  return {
    name: host,
    host,
    port,
    user,
    credential,
    dockerSocket: '',
    hostKeyType: null,
    resolve: async () => address!,
    acceptHostKey: ({ fingerprint }) => accept(fingerprint),
  }
}

/** Returns `SHA256:…` unchanged; computes the fingerprint of a public key or a known_hosts line. */
export function fingerprintOf(text: string): string {
  const key = text
    .trim()
    .split(/\s+/)
    .find((word) => word.startsWith('AAAA'))
  if (!key) return text.trim().replace(/=+$/, '')
  return `SHA256:${createHash('sha256').update(Buffer.from(key, 'base64')).digest('base64').replace(/=+$/, '')}`
}

function linkFailure(error: unknown): unknown {
  if (!(error instanceof ServerUnreachable)) return error
  const reason = error.reason === 'unreachable' ? 'unreachable' : 'denied'
  return new StoreFailure(reason, error.message, { cause: error })
}
