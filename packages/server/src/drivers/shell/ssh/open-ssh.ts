import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import type { Client, ConnectConfig } from 'ssh2'
import { errorMessage } from '../../../platform/error-message.ts'
import { createYoungCollector } from '../../../platform/steady-memory.ts'
import { ServerUnreachable } from './server-unreachable.ts'
import type { SshTarget } from './ssh-target.ts'

const connectTimeoutMs = 10_000
const keepAliveMs = 10_000
const maxMissedKeepAlives = 3

/** Opens an authenticated connection. The host key is checked before any secret is sent. */
export async function openSsh(target: SshTarget, abort: AbortSignal): Promise<Client> {
  const limit = AbortSignal.any([abort, AbortSignal.timeout(connectTimeoutMs)])
  const address = await target.resolve(limit).catch((error: unknown) => {
    abort.throwIfAborted()
    throw error instanceof ServerUnreachable ? error : unreachable(target, error)
  })
  if (!target.credential)
    throw new ServerUnreachable('login_refused', `No private key or password is stored for ${target.name}. Set one of them.`)
  const { default: ssh2 } = await import('ssh2')
  const client = new ssh2.Client()
  let refusal: ServerUnreachable | undefined
  const hostVerifier = (key: Buffer, callback: (isGood: boolean) => void) => {
    verifyHostKey(target, key).then(
      (found) => {
        refusal = found
        callback(found === undefined)
      },
      (error: unknown) => {
        refusal = unreachable(target, error)
        callback(false)
      },
    )
  }
  return new Promise<Client>((resolve, reject) => {
    const settleOnce = (settle: () => void) => {
      limit.removeEventListener('abort', onAbort)
      settle()
    }
    const failWith = (error: unknown) =>
      settleOnce(() => {
        client.destroy()
        reject(abort.aborted ? abort.reason : (refusal ?? asUnreachable(target, error)))
      })
    const onAbort = () => failWith(new Error(`it did not respond within ${connectTimeoutMs / 1000} s`))
    limit.addEventListener('abort', onAbort, { once: true })
    // Kept for the lifetime of the client: an unhandled error event would end the process.
    client.on('error', failWith)
    client.on('close', () => failWith(new Error('it closed the connection')))
    client.on('ready', () => settleOnce(() => resolve(client)))
    try {
      const sock = connect({ host: address, port: target.port })
      client.connect({ ...settingsFor(target), sock, hostVerifier } as ConnectConfig)
      // A closed channel can still receive up to 2 MB that the server has sent meanwhile.
      sock.on('data', createYoungCollector())
    } catch (error) {
      failWith(error)
    }
  })
}

async function verifyHostKey(target: SshTarget, key: Buffer): Promise<ServerUnreachable | undefined> {
  const fingerprint = `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
  const message = await target.acceptHostKey({ fingerprint, type: typeOf(key) })
  return message === null ? undefined : new ServerUnreachable('host_key_changed', message)
}

/** The first field of a public key is its type. */
function typeOf(key: Buffer): string {
  const length = key.length >= 4 ? key.readUInt32BE(0) : 0
  return length > 0 && length <= 64 ? key.subarray(4, 4 + length).toString('latin1') : ''
}

function settingsFor({ port, user, credential, hostKeyType }: SshTarget): ConnectConfig {
  const login = credential && 'privateKey' in credential ? { privateKey: credential.privateKey.reveal() } : {}
  const password = credential && 'password' in credential ? { password: credential.password.reveal() } : {}
  const preferred = hostKeyType === 'ssh-rsa' ? ['rsa-sha2-512', 'rsa-sha2-256'] : hostKeyType ? [hostKeyType] : []
  const isKnown = preferred.length > 0 && preferred.every((name) => hostKeyAlgorithms.includes(name))
  const order = isKnown ? [...preferred, ...hostKeyAlgorithms.filter((name) => !preferred.includes(name))] : hostKeyAlgorithms
  return {
    port,
    username: user,
    ...login,
    ...password,
    readyTimeout: connectTimeoutMs,
    keepaliveInterval: keepAliveMs,
    keepaliveCountMax: maxMissedKeepAlives,
    algorithms: { serverHostKey: order as never },
  }
}

const hostKeyAlgorithms = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
]

function asUnreachable(target: SshTarget, error: unknown): ServerUnreachable {
  const level = (error as { level?: string }).level
  if (level === 'client-authentication')
    return new ServerUnreachable(
      'login_refused',
      `${describeTarget(target)} refused the login of ${target.user}: the ${target.credential && 'password' in target.credential ? 'password' : 'key'} is not accepted there`,
      { cause: error },
    )
  return unreachable(target, error)
}

const unreachable = (target: SshTarget, error: unknown) =>
  new ServerUnreachable('unreachable', `${describeTarget(target)} cannot be reached over SSH: ${safeMessage(error)}`, {
    cause: error,
  })

const describeTarget = ({ name, host, port }: SshTarget) => `${name} (${host}:${port})`

const messageByCode: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ETIMEDOUT: 'it does not respond',
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the name servers do not respond',
  ECONNRESET: 'it closed the connection',
}

/** Text from the remote side is untrusted: truncated, and without control characters. */
export function safeMessage(error: unknown): string {
  const known = messageByCode[(error as NodeJS.ErrnoException)?.code ?? '']
  const message = errorMessage(error)
  return known ?? message.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').slice(0, 300)
}
