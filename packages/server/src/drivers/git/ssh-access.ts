import { createHash } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Secret } from '../../platform/secrets/secret.ts'
import type { RemoteAddress } from './remote.ts'

/** git calls it in place of ssh; the settings are in a file, because git gives it nothing but the host and the command. */
export const sshWrapperScript = `#!/bin/sh
exec ssh -F "$BERTH_SSH_CONFIG" "$@"
`

export interface SshFiles {
  wrapperPath: string
  knownHostsPath: string
  /** A private folder of this one run, removed afterwards. */
  runFolder: string
}

/** Nothing of the machine's own ssh is used: neither its settings, its keys, its agent nor the hosts that it knows. */
export async function prepareSsh(
  remote: RemoteAddress,
  { key, address, files }: { key?: Secret; address?: string; files: SshFiles },
): Promise<Record<string, string>> {
  const keyPath = join(files.runFolder, 'key')
  if (key) await writeFile(keyPath, `${key.reveal().replaceAll('\r\n', '\n').trimEnd()}\n`, { mode: 0o600, flag: 'wx' })
  const configPath = join(files.runFolder, 'ssh_config')
  const settings = [
    `HostKeyAlias ${knownAs(remote)}`,
    `IdentityFile ${key ? quoted(keyPath) : 'none'}`,
    `UserKnownHostsFile ${quoted(files.knownHostsPath)}`,
    ...(address ? [`HostName ${address}`] : []),
    ...constantSettings,
  ]
  await writeFile(configPath, `Host *\n${settings.map((line) => `  ${line}\n`).join('')}`, { mode: 0o600 })
  return { GIT_SSH: files.wrapperPath, GIT_SSH_VARIANT: 'ssh', BERTH_SSH_CONFIG: configPath }
}

/** The first key that a host shows is pinned; another one later is refused. */
const constantSettings = [
  'StrictHostKeyChecking accept-new',
  'GlobalKnownHostsFile none',
  'UpdateHostKeys no',
  'HashKnownHosts no',
  'CheckHostIP no',
  'IdentitiesOnly yes',
  'IdentityAgent none',
  'BatchMode yes',
  'PasswordAuthentication no',
  'KbdInteractiveAuthentication no',
  'ConnectTimeout 15',
  'ServerAliveInterval 15',
  'ServerAliveCountMax 2',
  'ForwardAgent no',
  'ClearAllForwardings yes',
  'ControlMaster no',
  'ControlPath none',
  'LogLevel ERROR',
]

/** The fingerprints that are pinned for the remote's host. */
export async function pinnedKeys(remote: RemoteAddress, knownHostsPath: string): Promise<string[]> {
  const lines = await readLines(knownHostsPath)
  const blobs = lines.filter((line) => isOf(remote, line)).map((line) => line.split(' ')[2] ?? '')
  return blobs.map(
    (blob) => `SHA256:${createHash('sha256').update(Buffer.from(blob, 'base64')).digest('base64').replace(/=+$/, '')}`,
  )
}

export async function forgetKeys(remote: RemoteAddress, knownHostsPath: string): Promise<void> {
  const lines = await readLines(knownHostsPath)
  const kept = lines.filter((line) => line !== '' && !isOf(remote, line))
  await writeFile(`${knownHostsPath}.new`, kept.map((line) => `${line}\n`).join(''), { mode: 0o600 })
  await rename(`${knownHostsPath}.new`, knownHostsPath)
}

/** What ssh says of the key that it refused. */
export const offeredKey = (output: string): string | null => /(SHA256:[A-Za-z0-9+/]+)/.exec(output)?.[1] ?? null

const knownAs = ({ host, port }: RemoteAddress) => (port === 22 ? host : `[${host}]:${port}`)

const isOf = (remote: RemoteAddress, line: string) => line.split(' ', 1)[0] === knownAs(remote)

const readLines = async (path: string) => (await readFile(path, 'utf8').catch(() => '')).split('\n')

/** ssh expands % and $ in these paths; the work folder is checked to hold neither them nor quotes. */
const quoted = (path: string) => `"${path}"`
