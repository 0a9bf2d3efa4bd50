import { chown, copyFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { serverEnv, serverFlags } from '../../packages/cli/bin/server-process.js'
import { type Daemon, startDaemon } from './daemon.ts'
import { freePorts } from './free-port.ts'
import { type InstanceProcesses, instanceProcesses } from './instance-processes.ts'
import { tempFolder } from './temp-folder.ts'

const ownLauncher = join(import.meta.dirname, '..', '..', 'packages', 'cli', 'bin', 'berth.js')

export interface BerthOptions {
  /** Settings of the instance (BERTH_…) that override the kit's own: loopback, free ports, a temporary data folder. */
  env?: NodeJS.ProcessEnv
  /** A data folder that outlives the instance; without it a temporary one is used. */
  dataFolder?: string
  readyWithinMs?: number
  /** Further arguments of `berth up`. */
  args?: readonly string[]
  /** The uid that the instance runs as; only root can set one. */
  user?: number
  /** The launcher of an installed package, in place of the clone's. */
  launcher?: string
}

export interface Berth extends AsyncDisposable {
  readonly url: string
  readonly edgeUrl: string
  readonly dataFolder: string
  /** The main process: the supervisor, or the only process if BERTH_ROLE is not `all`. */
  readonly pid: number
  /** The two processes of a supervised instance. */
  readonly processes: InstanceProcesses
  /** Output of the instance since its first start. */
  output(): string
  /** Kills the control plane immediately, like a power failure. */
  kill9(): Promise<void>
  /** Sends SIGINT, which also stops the edge and the projects. Resolves with the exit code once the instance has ended. */
  stop(): Promise<number | null>
  /** Starts again on the same folder and ports. A running instance gets SIGTERM first: its edge and projects keep serving. */
  restart(env?: NodeJS.ProcessEnv): Promise<void>
}

/** Starts the built product as a user does. `await using berth = await startBerth()` stops it at the end of the block. */
export async function startBerth({
  env = {},
  dataFolder,
  readyWithinMs = 90_000,
  user,
  args = [],
  launcher = ownLauncher,
}: BerthOptions = {}): Promise<Berth> {
  const made = dataFolder ? undefined : await tempFolder('data')
  const folder = dataFolder ?? made!.path
  if (made && !env.BERTH_DATABASE_URL) await copyMigrated(folder)
  if (user !== undefined) await ownAll(folder, user)
  const [port, edgePort] = await freePorts(2)
  const settings = { ...bareEnvironment(folder), BERTH_PORT: String(port), BERTH_EDGE_PORT: String(edgePort), ...env }
  const start = (more: NodeJS.ProcessEnv = {}) =>
    startDaemon({
      ...asUser(user, [process.execPath, ...serverFlags, launcher, 'up', ...args]),
      // The IPC channel closes when this test process is killed; the product then ends itself. A package may hand over to another.
      env: { ...serverEnv, ...settings, ...more, ...(launcher === ownLauncher ? { BERTH_LAUNCHED: '1' } : {}) },
      channel: launcher === ownLauncher,
      ready: /^ready$/m,
      readyWithinMs,
    })
  const instance = new Instance(start, await start())
  return {
    url: `http://127.0.0.1:${settings.BERTH_PORT}`,
    edgeUrl: `http://127.0.0.1:${settings.BERTH_EDGE_PORT}`,
    dataFolder: folder,
    get pid() {
      return instance.pid
    },
    get processes() {
      return instanceProcesses(instance.pid)
    },
    output: () => instance.output(),
    kill9: () => instance.kill9(),
    stop: () => instance.stop(),
    restart: (more) => instance.restart(more),
    async [Symbol.asyncDispose]() {
      await instance.endAll()
      await made?.remove()
    },
  }
}

/** Copies the file of scripts/test/migrated-file.ts, if the test run has one. The programs in bench/ start on an empty folder. */
async function copyMigrated(folder: string): Promise<void> {
  const file = process.env.BERTH_TEST_MIGRATED_FILE
  if (file) await copyFile(file, join(folder, 'berth.db'))
}

async function ownAll(folder: string, user: number): Promise<void> {
  for (const name of ['.', ...(await readdir(folder))]) await chown(join(folder, name), user, user)
}

function asUser(user: number | undefined, [program, ...args]: [string, ...string[]]): { program: string; args: string[] } {
  if (user === undefined) return { program, args }
  return { program: '/usr/bin/setpriv', args: [`--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--', program, ...args] }
}

/** An instance across its restarts. After a kill, its workloads keep running until the test is over, as on a real machine. */
class Instance {
  #start: (env?: NodeJS.ProcessEnv) => Promise<Daemon>
  #daemon: Daemon
  #earlier: Daemon[] = []

  constructor(start: (env?: NodeJS.ProcessEnv) => Promise<Daemon>, daemon: Daemon) {
    this.#start = start
    this.#daemon = daemon
  }

  get pid() {
    return this.#daemon.pid
  }

  output() {
    return [...this.#earlier, this.#daemon].map((daemon) => daemon.output()).join('')
  }

  async kill9() {
    // The supervisor first: it would restart the others. They also end after it, but not before their event loops notice.
    const { worker, api } = instanceProcesses(this.pid)
    this.#daemon.signal('SIGKILL')
    for (const pid of [worker, api]) if (pid !== undefined) killIfAlive(pid)
    await this.#daemon.ended()
  }

  async stop() {
    await this.#daemon.stop(undefined, 'SIGINT')
    return (await this.#daemon.ended()).code
  }

  async restart(env?: NodeJS.ProcessEnv) {
    if (this.#daemon.isRunning()) await this.#daemon.stop()
    this.#earlier.push(this.#daemon)
    this.#daemon = await this.#start(env)
  }

  async endAll() {
    if (this.#daemon.isRunning()) {
      this.#daemon.signal('SIGINT')
      // After a second signal the instance does not wait for the projects.
      this.#daemon.signal('SIGINT')
    }
    for (const daemon of [this.#daemon, ...this.#earlier]) await daemon.stop(undefined, 'SIGINT')
  }
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** An environment without the developer's own settings and home. */
function bareEnvironment(folder: string): NodeJS.ProcessEnv {
  const kept = ['PATH', 'LANG', 'TZ', 'TMPDIR', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE']
  const env = Object.fromEntries(kept.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
  return { ...env, HOME: folder, BERTH_HOST: '127.0.0.1', BERTH_DATA_DIR: folder }
}
