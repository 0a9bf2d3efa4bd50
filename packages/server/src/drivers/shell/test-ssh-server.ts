import { createHash } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import ssh2, { type AuthContext, type Connection, type ServerChannel } from 'ssh2'

/** Test support: a real SSH server on loopback that accepts one key and passes every command to `execute`. */
export interface SshServer {
  port: number
  /** The host key as `SHA256:…`. */
  fingerprint: string
  logins: { user: string; accepted: boolean }[]
  close(): Promise<void>
}

export interface KeyPair {
  privateKey: string
  publicKey: string
}

/** Creates a key pair. About one in 300 Ed25519 keys of ssh2 1.17.0 is malformed, which its own parser detects. */
export function makeKeyPair(): KeyPair {
  const { private: privateKey, public: publicKey } = ssh2.utils.generateKeyPairSync('ed25519')
  return ssh2.utils.parseKey(privateKey) instanceof Error ? makeKeyPair() : { privateKey, publicKey }
}

export async function startSshServer(settings: {
  authorizedKey: string
  execute: (command: string, channel: ServerChannel) => void
  port?: number
  hostKey?: KeyPair
}): Promise<SshServer> {
  const hostKey = settings.hostKey ?? makeKeyPair()
  const logins: SshServer['logins'] = []
  const connections = new Set<Connection>()
  const server = new ssh2.Server({ hostKeys: [hostKey.privateKey] }, (client) => {
    connections.add(client)
    client.on('close', () => connections.delete(client))
    client.on('error', () => undefined)
    client.on('authentication', (login) => authenticate(login, settings.authorizedKey, logins))
    client.on('ready', () =>
      client.on('session', (accept) => accept().on('exec', (take, _refuse, info) => settings.execute(info.command, take()))),
    )
  })
  await new Promise<void>((resolve) => server.listen(settings.port ?? 0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () => {
    for (const client of connections) client.end()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  }
  return { port, fingerprint: fingerprintOf(hostKey.publicKey), logins, close }
}

function authenticate(login: AuthContext, authorizedKey: string, logins: SshServer['logins']): void {
  const known = parsed(authorizedKey)
  if (login.method !== 'publickey') {
    login.reject(['publickey'])
    return
  }
  const isKnown = login.key.data.equals(known.getPublicSSH())
  const isProven = !login.signature || known.verify(login.blob!, login.signature, login.hashAlgo) === true
  if (login.signature || !isKnown) logins.push({ user: login.username, accepted: isKnown && isProven })
  if (isKnown && isProven) login.accept()
  else login.reject(['publickey'])
}

function parsed(key: string) {
  const result = ssh2.utils.parseKey(key)
  if (result instanceof Error) throw result
  return Array.isArray(result) ? result[0]! : result
}

function fingerprintOf(publicKey: string): string {
  return `SHA256:${createHash('sha256').update(parsed(publicKey).getPublicSSH()).digest('base64').replace(/=+$/, '')}`
}
