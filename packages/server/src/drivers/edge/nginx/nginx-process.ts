import { realpathSync } from 'node:fs'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { nginxFiles } from '../../../edge-proxy/protocol/nginx-files.ts'
import { spawnDaemon } from '../../../edge-proxy/protocol/spawn-edge.ts'
import type { RunCommand } from '../../shell/command.ts'
import { CommandFailed } from '../../shell/command-errors.ts'

export interface NginxProcessOptions {
  folder: string
  program: string
  workers: number
  /** Folders of programs, for a program without a path. */
  path: string | undefined
}

interface Worker {
  pid: number
  /** True while it finishes its requests and accepts no connection. */
  isEnding: boolean
}

const reloadTimeoutMs = 20_000
const pollMs = 10
const commandOptions = { timeoutMs: 60_000, maxOutputBytes: 16_384 }

/** The nginx of one folder: a daemon that this process starts, finds again, and controls by signals. */
export class NginxProcess {
  readonly #folder: string
  readonly #program: string
  readonly #workers: number
  readonly #path: string | undefined
  readonly #run: RunCommand

  constructor({ folder, program, workers, path }: NginxProcessOptions, run: RunCommand) {
    this.#folder = folder
    this.#program = program
    this.#workers = workers
    this.#path = path
    this.#run = run
  }

  /** Checks a configuration without using it. Rejects with nginx's message. */
  async check(configuration: string): Promise<void> {
    try {
      const args = ['-t', '-q', ...this.#configuration(configuration)]
      await this.#run({ program: this.#program, args, cwd: this.#folder }, commandOptions)
    } catch (cause) {
      const line = cause instanceof CommandFailed ? problemLine(cause.result.stderr) : String(cause)
      throw new Error(`nginx refused the configuration: ${line}`, { cause })
    }
  }

  /** Starts nginx with the active configuration. Resolves when it listens. */
  async start(): Promise<void> {
    const log = join(this.#folder, nginxFiles.errorLog)
    const args = this.#configuration(nginxFiles.active)
    const code = await spawnDaemon(this.#program, args, { folder: this.#folder, log, path: this.#path })
    if (code !== 0) throw new Error(`nginx did not start: it ended with ${code}${await this.#lastError()}`)
    // The pid file is written first. Workers that start later would be taken for those of the next configuration.
    await waitFor(async () => {
      const master = await findMaster(this.#folder)
      return master !== undefined && (await acceptingWorkers(master)).length >= this.#workers
    }, 'nginx did not start its workers')
  }

  /** Puts the active configuration into effect. Resolves when no worker with an earlier one accepts connections. */
  async reload(): Promise<void> {
    const master = await findMaster(this.#folder)
    if (master === undefined) return this.start()
    const before = new Set(await acceptingWorkers(master))
    process.kill(master, 'SIGHUP')
    const isReplaced = async () => {
      const accepting = await acceptingWorkers(master)
      return accepting.length >= this.#workers && accepting.every((pid) => !before.has(pid))
    }
    await waitFor(isReplaced, 'nginx did not load its configuration in time').catch(async (cause: Error) => {
      throw new Error(`${cause.message}${await this.#lastError()}`)
    })
  }

  /** Paths are relative to the folder: unprivileged workers open log files again, and may not enter the folders above. */
  #configuration = (name: string) => ['-p', './', '-e', nginxFiles.errorLog, '-c', `${name}/${nginxFiles.main}`]

  async #lastError(): Promise<string> {
    const log = await readFile(join(this.#folder, nginxFiles.errorLog), 'utf8').catch(() => '')
    const line = log.trim().split('\n').at(-1)
    return line ? ` (${line.slice(0, 500)})` : ''
  }
}

/** Ends the nginx of a folder: requests in progress have `graceMs`. */
export async function endNginx(folder: string, graceMs: number): Promise<void> {
  const master = await findMaster(folder)
  if (master === undefined) return
  for (const [signal, waitMs] of [
    ['SIGQUIT', graceMs],
    ['SIGTERM', 2_000],
    ['SIGKILL', 2_000],
  ] as const) {
    const workers = await workersOf(master)
    sendSignal(master, signal)
    // The master cannot forward this one.
    if (signal === 'SIGKILL') for (const { pid } of workers) sendSignal(pid, signal)
    const hasEnded = await waitFor(async () => (await findMaster(folder)) !== master, '', waitMs).then(
      () => true,
      () => false,
    )
    if (hasEnded) return
  }
}

/** The running nginx of a folder. A pid file may be left over, and its number be that of another process. */
export async function findMaster(folder: string): Promise<number | undefined> {
  const pid = Number(await readFile(join(folder, nginxFiles.pid), 'utf8').catch(() => ''))
  if (!Number.isInteger(pid) || pid <= 1) return undefined
  const [title, place] = await Promise.all([titleOf(pid), readlink(`/proc/${pid}/cwd`).catch(() => '')])
  return title.startsWith('nginx: master process') && place === realpathSync(folder) ? pid : undefined
}

const acceptingWorkers = async (master: number): Promise<number[]> =>
  (await workersOf(master)).filter(({ isEnding }) => !isEnding).map(({ pid }) => pid)

/** The workers of an nginx, those that finish their requests included. */
export async function workersOf(master: number): Promise<Worker[]> {
  const pids = await childrenOf(master)
  const titles = await Promise.all(pids.map(async (pid) => ({ pid, title: await titleOf(pid) })))
  return titles
    .filter(({ title }) => title.startsWith('nginx: worker process'))
    .map(({ pid, title }) => ({ pid, isEnding: title.includes('shutting down') }))
}

async function childrenOf(parent: number): Promise<number[]> {
  const listed = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8').catch(() => undefined)
  if (listed !== undefined) return listed.split(' ').map(Number).filter(Boolean)
  const pids = (await readdir('/proc')).map(Number).filter(Boolean)
  const parents = await Promise.all(pids.map(parentOf))
  return pids.filter((_, at) => parents[at] === parent)
}

/** The fourth field; the second is the name in parentheses, which may hold spaces. */
async function parentOf(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1])
}

const titleOf = (pid: number): Promise<string> => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}

async function waitFor(isDone: () => Promise<boolean>, problem: string, timeoutMs = reloadTimeoutMs): Promise<void> {
  const giveUpAt = performance.now() + timeoutMs
  while (!(await isDone())) {
    if (performance.now() > giveUpAt) throw new Error(problem)
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}

/** The first line that names a problem. */
const problemLine = (stderr: string): string => {
  const lines = stderr.trim().split('\n')
  return (lines.find((line) => /\[(?:emerg|alert|crit)\]/.test(line)) ?? lines.at(-1) ?? '').slice(0, 500)
}
