import { createHash } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Secret } from '../../platform/secrets/secret.ts'
import type { RemoteAddress } from './remote.ts'

/** Script that git calls in place of ssh; the settings are in a file, because git passes only the host and the command. */
export const sshWrapperScript = `#!/bin/sh
exec ssh -F "$BERTH_SSH_CONFIG" "$@"
`

export interface SshFiles {
  wrapperPath: string
  knownHostsPath: string
  /** Private folder of this run, removed afterwards. */
  runFolder: string
}

/** Prepares ssh without the machine's own settings, keys, agent and known hosts. */
export async function prepareSsh(
  remote: RemoteAddress,
  { key, address, files }: { key?: Secret; address?: string; files: SshFiles },
): Promise<Record<string, string>> {
  const keyPath = join(files.runFolder, 'key')
  if (key) await writeFile(keyPath, `${key.reveal().replaceAll('\r\n', '\n').trimEnd()}\n`, { mode: 0o600, flag: 'wx' })
  const configPath = join(files.runFolder, 'ssh_config')
  const settings = [
    `HostKeyAlias ${knownHostsName(remote)}`,
    `IdentityFile ${key ? quoted(keyPath) : 'none'}`,
    `UserKnownHostsFile ${quoted(files.knownHostsPath)}`,
    ...(address ? [`HostName ${address}`] : []),
    ...constantSettings,
  ]
  await writeFile(configPath, `Host *\n${settings.map((line) => `  ${line}\n`).join('')}`, { mode: 0o600 })
  return { GIT_SSH: files.wrapperPath, GIT_SSH_VARIANT: 'ssh', BERTH_SSH_CONFIG: configPath }
}

/** Pins the first key of a host; another key is refused later. */
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

/** The pinned fingerprints of the remote's host. */
export async function pinnedKeys(remote: RemoteAddress, knownHostsPath: string): Promise<string[]> {
  const lines = await readLines(knownHostsPath)
  const blobs = lines.filter((line) => isForHost(remote, line)).map((line) => line.split(' ')[2] ?? '')
  return blobs.map(
    (blob) => `SHA256:${createHash('sha256').update(Buffer.from(blob, 'base64')).digest('base64').replace(/=+$/, '')}`,
  )
}

export async function forgetKeys(remote: RemoteAddress, knownHostsPath: string): Promise<void> {
  const lines = await readLines(knownHostsPath)
  const remaining = lines.filter((line) => line !== '' && !isForHost(remote, line))
  await writeFile(`${knownHostsPath}.new`, remaining.map((line) => `${line}\n`).join(''), { mode: 0o600 })
  await rename(`${knownHostsPath}.new`, knownHostsPath)
}

/** The fingerprint of the refused key in ssh's output. */
export const offeredKey = (output: string): string | null => /(SHA256:[A-Za-z0-9+/]+)/.exec(output)?.[1] ?? null

const knownHostsName = ({ host, port }: RemoteAddress) => (port === 22 ? host : `[${host}]:${port}`)

const isForHost = (remote: RemoteAddress, line: string) => line.split(' ', 1)[0] === knownHostsName(remote)

const readLines = async (path: string) => (await readFile(path, 'utf8').catch(() => '')).split('\n')

/** ssh expands % and $ in these paths; the work folder was checked to contain neither them nor quotes. */
const quoted = (path: string) => `"${path}"`
