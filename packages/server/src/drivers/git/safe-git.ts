import { randomUUID } from 'node:crypto'
import { chmod, mkdir, rename, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { CommandResult, OutputReceiver, RunCommand } from '../shell/command.ts'
import { CommandFailed, CommandTimedOut, ProgramMissing } from '../shell/command-errors.ts'
import { credentialEnvironment, credentialHelperConfig, credentialHelperScript } from './credential-helper.ts'
import { explainFailure } from './explain-failure.ts'
import { GitFailed, GitHostKeyChanged, GitTimedOut, RemoteRefused } from './git-errors.ts'
import { constantConfig, constantEnvironment } from './git-settings.ts'
import { type GitRemote, parseRemote, type RemoteAddress } from './remote.ts'
import { removeLeftoverRuns, withRunFolder } from './run-folders.ts'
import { offeredKey, pinnedKeys, prepareSsh, sshWrapperScript } from './ssh-access.ts'

export interface SafeGitOptions {
  shell: RunCommand
  /** Absolute path of Berth's own folder: scripts, pinned host keys, caches and temporary files of a run. */
  workFolder: string
  /** Hosts, besides this machine, that may be used without encryption. */
  allowedHttpHosts?: readonly string[]
  /**
   * Resolves a host to its allowed addresses, or rejects. git then connects only to these, also if the name changes its address
   * a moment later, and follows no redirect.
   */
  permittedAddresses?: (host: string, abort?: AbortSignal) => Promise<readonly string[]>
}

export interface GitCall {
  args: readonly string[]
  /** Absent: git may not use the network. */
  remote?: GitRemote
  gitFolder?: string
  workTree?: string
  timeoutMs: number
  maxOutputBytes?: number
  abort?: AbortSignal
  onStdout?: OutputReceiver
  onStderr?: OutputReceiver
  acceptExitCodes?: readonly number[]
}

const defaultUsername = 'x-access-token'
const defaultOutputBytes = 1_000_000

/** Runs git without settings of the machine or the user, without hooks and prompts, and with one allowed protocol. */
export class SafeGit {
  readonly #options: SafeGitOptions
  readonly #folders: { home: string; run: string; bin: string }
  #ready: Promise<void> | undefined

  constructor(options: SafeGitOptions) {
    if (!/^\/[^"$%\\\0-\x1f]+$/.test(options.workFolder))
      throw new Error('The work folder of git has characters that ssh would interpret')
    this.#options = options
    const inWork = (name: string) => join(options.workFolder, name)
    this.#folders = { home: inWork('home'), run: inWork('run'), bin: inWork('bin') }
  }

  get knownHostsPath(): string {
    return join(this.#options.workFolder, 'known_hosts')
  }

  address(remote: GitRemote): RemoteAddress {
    const address = parseRemote(remote.url, this.#options.allowedHttpHosts)
    const { username = defaultUsername, token } = remote.credential ?? {}
    const values = [username, ...(token ? [token.reveal()] : [])]
    if (values.some((value) => value === '' || /[\0-\x1f\x7f]/.test(value))) {
      throw new RemoteRefused('has a credential that is empty or contains a line break')
    }
    return address
  }

  /** Allowed addresses of a host; undefined: all addresses of its name. */
  async permitted(host: string, abort?: AbortSignal): Promise<readonly string[] | undefined> {
    const addresses = await this.#options.permittedAddresses?.(host.replace(/^\[|\]$/g, ''), abort)
    if (addresses?.length === 0) throw new RemoteRefused('is not allowed from this instance')
    return addresses
  }

  /** Parses an address that a repository names, with the checks of an address that a user gives; throws `RemoteRefused`. */
  parse(url: string): RemoteAddress {
    return parseRemote(url, this.#options.allowedHttpHosts)
  }

  async run(call: GitCall): Promise<CommandResult> {
    const address = call.remote && this.address(call.remote)
    await this.#whenReady()
    return withRunFolder(this.#folders.run, async (runFolder) => {
      const access = address && call.remote ? await this.#access(call.remote, address, runFolder, call.abort) : noAccess
      return this.#start(call, access)
    }).catch(async (error) => {
      throw await this.#explain(error, call, address)
    })
  }

  #start(call: GitCall, access: Access): Promise<CommandResult> {
    const { gitFolder, workTree, args, timeoutMs, maxOutputBytes = defaultOutputBytes } = call
    const paths = [...(gitFolder ? [`--git-dir=${gitFolder}`] : []), ...(workTree ? [`--work-tree=${workTree}`] : [])]
    const config = [...constantConfig, ...access.config].flatMap((setting) => ['-c', setting])
    const env = {
      ...constantEnvironment,
      HOME: this.#folders.home,
      GIT_CEILING_DIRECTORIES: this.#options.workFolder,
      ...access.env,
    }
    return this.#options.shell(
      { program: 'git', args: [...config, ...paths, ...args], env, cwd: workTree ?? this.#folders.home },
      { ...call, timeoutMs, maxOutputBytes, secretInput: access.secretInput },
    )
  }

  async #access(remote: GitRemote, address: RemoteAddress, runFolder: string, abort?: AbortSignal): Promise<Access> {
    const { scheme, host, port } = address
    const addresses = await this.permitted(host, abort)
    if (scheme === 'ssh') return this.#sshAccess(remote, address, runFolder, addresses?.[0])
    // A literal address in the URL cannot change its meaning.
    const pinned = isIP(host.replace(/^\[|\]$/g, ''))
      ? undefined
      : addresses?.map((ip) => (ip.includes(':') ? `[${ip}]` : ip)).join(',')
    return {
      config: [
        `protocol.${scheme}.allow=always`,
        ...(pinned ? [`http.curloptResolve=${host}:${port}:${pinned}`] : []),
        // A proxy would resolve the name again, after the check.
        ...(addresses ? ['http.followRedirects=false', 'http.proxy='] : []),
        ...(remote.credential ? [credentialHelperConfig] : []),
      ],
      env: remote.credential
        ? credentialEnvironment(
            join(this.#folders.bin, 'credential-helper'),
            address,
            remote.credential.username ?? defaultUsername,
          )
        : {},
      secretInput: remote.credential?.token.reveal(),
    }
  }

  async #sshAccess(remote: GitRemote, address: RemoteAddress, runFolder: string, ip: string | undefined): Promise<Access> {
    await mkdir(runFolder, { mode: 0o700 })
    const files = { wrapperPath: join(this.#folders.bin, 'ssh'), knownHostsPath: this.knownHostsPath, runFolder }
    const env = await prepareSsh(address, { key: remote.sshKey, address: ip, files })
    return { config: ['protocol.ssh.allow=always'], env }
  }

  async #explain(error: unknown, call: GitCall, address: RemoteAddress | undefined): Promise<unknown> {
    if (error instanceof CommandTimedOut) {
      return new GitTimedOut(`${address?.shown ?? 'git'} did not finish within ${Math.ceil(error.timeoutMs / 1000)} seconds`)
    }
    if (!(error instanceof CommandFailed)) return error
    const output = withoutCredentials(error.result.stderr || error.lastLines, call.remote)
    if (!address) return new GitFailed(`git failed: ${output.trim().slice(-1_000)}`, output.trim().slice(-1_000))
    if (/exec: ssh: not found/.test(output)) return new ProgramMissing('ssh')
    if (/host key verification failed|host identification has changed/i.test(output)) {
      const pinned = await pinnedKeys(address, this.knownHostsPath)
      if (pinned.length > 0) return new GitHostKeyChanged(address.host, pinned, offeredKey(output), output.slice(-1_000))
    }
    return explainFailure(output, address, Boolean(address.scheme === 'ssh' ? call.remote?.sshKey : call.remote?.credential))
  }

  /** Runs once per process; retried after a failure. */
  #whenReady(): Promise<void> {
    this.#ready ??= this.#prepare().catch((error) => {
      this.#ready = undefined
      throw error
    })
    return this.#ready
  }

  async #prepare(): Promise<void> {
    await mkdir(this.#options.workFolder, { recursive: true, mode: 0o700 })
    for (const folder of Object.values(this.#folders)) await mkdir(folder, { recursive: true, mode: 0o700 })
    await installScript(join(this.#folders.bin, 'credential-helper'), credentialHelperScript)
    await installScript(join(this.#folders.bin, 'ssh'), sshWrapperScript)
    await removeLeftoverRuns(this.#folders.run)
  }
}

interface Access {
  config: string[]
  env: Record<string, string>
  secretInput?: string
}

const noAccess: Access = { config: [], env: { GIT_NO_LAZY_FETCH: '1' } }

/** Replaces the script atomically, so that a running git never reads half of it. */
async function installScript(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomUUID()}`
  await writeFile(draft, text, { mode: 0o700 })
  await chmod(draft, 0o700)
  await rename(draft, path)
}

/** Removes credentials from output: git itself prints none, but a server may echo those that it received. */
export function withoutCredentials(output: string, remote: GitRemote | undefined): string {
  const token = remote?.credential?.token.reveal()
  const username = remote?.credential?.username ?? defaultUsername
  const secretForms = token ? [token, encodeURIComponent(token), Buffer.from(`${username}:${token}`).toString('base64')] : []
  let text = output
  for (const form of secretForms) text = text.replaceAll(form, '[secret]')
  return text.replace(/\/\/[^/@\s]+@/g, '//[secret]@')
}
