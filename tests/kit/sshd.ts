import { execFile } from 'node:child_process'
import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { descendants } from '../../packages/server/src/platform/listener/process-tree.ts'
import { type Daemon, startDaemon } from './daemon.ts'
import { freePort } from './free-port.ts'
import { partOf } from './machine.ts'
import { tempFolder } from './temp-folder.ts'

const run = promisify(execFile)

export interface Sshd extends AsyncDisposable {
  readonly host: '127.0.0.1'
  readonly port: number
  /** The user that this test runs as. */
  readonly user: string
  /** The private key that may log in. */
  readonly privateKey: string
  /** `SHA256:…` of the host key in use. */
  fingerprint(): Promise<string>
  /** Restarts the host with another key, as after a reinstallation or with a man in the middle. */
  swapHostKey(): Promise<void>
  /** Stops the host; `start` starts it again. */
  stop(): Promise<void>
  start(): Promise<void>
  log(): string
}

export interface SshdOptions {
  /** Further configuration lines, placed first: sshd uses the first value of each setting. */
  config?: readonly string[]
  /** The key may log in as every user of this machine; only root can start such an sshd. */
  forAllUsers?: boolean
  /**
   * Also allows this user to log in with the password, through a password file that only this sshd sees. Needs bubblewrap and root.
   */
  password?: string
}

/** A real sshd on a high loopback port with its own keys. `program` is an absolute path, as sshd requires. */
export async function startSshd(
  program: string,
  { config: lines = [], forAllUsers = false, password }: SshdOptions = {},
): Promise<Sshd> {
  const folder = await tempFolder('sshd')
  const port = await freePort()
  const hostKey = join(folder.path, 'host-key')
  const clientKey = join(folder.path, 'client-key')
  await makeKey(hostKey)
  await makeKey(clientKey)
  const authorized = join(folder.path, 'authorized-keys')
  await writeFile(authorized, await readFile(`${clientKey}.pub`))
  await chmod(authorized, forAllUsers ? 0o644 : 0o600)
  if (forAllUsers) await chmod(folder.path, 0o755)
  const config = join(folder.path, 'config')
  const passwords = password === undefined ? [] : ['PasswordAuthentication yes', 'PermitRootLogin yes']
  await writeFile(config, [...lines, ...passwords, configText({ port, hostKey, authorized })].join('\n'))
  const plain = { program, args: ['-D', '-e', '-f', config] }
  const command = password === undefined ? plain : await withPassword(password, plain, folder.path)
  let daemon: Daemon | undefined
  let earlierLog = ''
  const start = async () => {
    daemon ??= await startDaemon({ ...command, ready: /Server listening on/ })
  }
  const stop = async () => {
    // Each connection has a process in a session of its own, which does not end with the listening process.
    const sessions = daemon ? (await descendants(daemon.pid)).slice(1) : []
    await daemon?.stop(3000)
    for (const pid of sessions) end(pid)
    earlierLog += daemon?.output() ?? ''
    daemon = undefined
  }
  await start()
  return {
    host: '127.0.0.1',
    port,
    user: userInfo().username,
    privateKey: await readFile(clientKey, 'utf8'),
    fingerprint: async () => (await run('ssh-keygen', ['-l', '-E', 'sha256', '-f', `${hostKey}.pub`])).stdout.split(' ')[1]!,
    async swapHostKey() {
      await stop()
      await makeKey(hostKey)
      await start()
    },
    start,
    stop,
    log: () => earlierLog + (daemon?.output() ?? ''),
    async [Symbol.asyncDispose]() {
      await stop()
      await folder.remove()
    },
  }
}

/** Runs the program with a password file of its own in place of /etc/shadow, which stays unchanged. */
async function withPassword(password: string, { program, args }: { program: string; args: string[] }, folder: string) {
  const { stdout } = await run('openssl', ['passwd', '-6', password])
  const shadow = join(folder, 'shadow')
  const lines = [`${userInfo().username}:${stdout.trim()}`, 'sshd:*'].map((line) => `${line}:19000:0:99999:7:::\n`)
  await writeFile(shadow, lines.join(''), { mode: 0o600 })
  const sandbox = ['--dev-bind', '/', '/', '--bind', shadow, '/etc/shadow', '--cap-add', 'ALL', '--die-with-parent', '--']
  return { program: partOf('bwrap'), args: [...sandbox, program, ...args] }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has already ended.
  }
}

async function makeKey(file: string) {
  await rm(file, { force: true })
  await rm(`${file}.pub`, { force: true })
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'berth test', '-f', file])
}

function configText({ port, hostKey, authorized }: { port: number; hostKey: string; authorized: string }) {
  return [
    'ListenAddress 127.0.0.1',
    `Port ${port}`,
    `HostKey ${hostKey}`,
    `AuthorizedKeysFile ${authorized}`,
    'PidFile none',
    'StrictModes no',
    'UsePAM no',
    'PasswordAuthentication no',
    'PermitRootLogin prohibit-password',
    'AllowStreamLocalForwarding yes',
    'AllowTcpForwarding yes',
    'MaxSessions 100',
    'MaxStartups 100',
    'Subsystem sftp internal-sftp',
    'LogLevel VERBOSE',
    '',
  ].join('\n')
}
