import { readFileSync } from 'node:fs'
import { chmod, chown, rename, rm } from 'node:fs/promises'
import net from 'node:net'
import { join } from 'node:path'
import { socketAddress } from '../../platform/socket-path.ts'
import type { EdgeFront } from '../protocol/edge-settings.ts'
import { nginxFiles } from '../protocol/nginx-files.ts'
import { type AccessLine, AccessLog } from '../records/access-log.ts'

const pollEveryMs = 200
const backlog = 1_024

/** The edge's side towards nginx: the socket on which nginx forwards requests, and nginx's access log. */
export class FrontSide {
  readonly #front: EdgeFront
  readonly #onLine: (line: AccessLine) => void
  #log: AccessLog | undefined
  #timer: NodeJS.Timeout | undefined
  #pid: number | undefined

  constructor(front: EdgeFront, onLine: (line: AccessLine) => void) {
    this.#front = front
    this.#onLine = onLine
  }

  /**
   * Opens the socket. It takes the place of another edge's socket in one step: nginx's next connection comes here, and the other edge
   * finishes its own.
   */
  async listen(onServer: (server: net.Server) => void): Promise<net.Server> {
    const server = net.createServer()
    onServer(server)
    const path = join(this.#front.folder, nginxFiles.helperSocket)
    const temporary = `${path}.${process.pid}`
    await rm(temporary, { force: true })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ path: socketAddress(temporary), backlog }, resolve)
    })
    await chmod(temporary, 0o600)
    if (this.#front.uid !== null) await chown(temporary, this.#front.uid, -1)
    await rename(temporary, path)
    return server
  }

  startReading(): void {
    this.#log = new AccessLog({ folder: this.#front.folder, onLine: this.#onLine, reopen: () => this.signal('SIGUSR1') })
    this.#timer = setInterval(() => void this.read(), pollEveryMs)
  }

  /** Reports the requests that nginx has served meanwhile. */
  async read(): Promise<void> {
    this.#pid = this.#readPid() ?? this.#pid
    await this.#log?.poll()
  }

  async stopReading(): Promise<void> {
    clearInterval(this.#timer)
    await this.#log?.close().catch(() => undefined)
    this.#log = undefined
  }

  /** Sends a signal to nginx, also after its folder was removed. */
  signal(signal: NodeJS.Signals): void {
    const pid = this.#readPid() ?? this.#pid
    try {
      if (pid !== undefined && isNginx(pid)) process.kill(pid, signal)
    } catch {
      // It has ended.
    }
  }

  #readPid(): number | undefined {
    try {
      return Number(readFileSync(join(this.#front.folder, nginxFiles.pid), 'utf8')) || undefined
    } catch {
      return undefined
    }
  }
}

const isNginx = (pid: number): boolean => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('nginx: master process')
