import { readdir, readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'

/**
 * The processes of one command. The kernel does not reuse the group's id while one of its members lives, so a signal cannot
 * reach an unrelated process.
 */
export class ProcessGroup {
  readonly #id: number
  readonly #graceMs: number
  #killTimer: NodeJS.Timeout | undefined
  #hasEnded = false

  constructor(id: number, graceMs: number) {
    this.#id = id
    this.#graceMs = graceMs
    liveGroups.add(this)
    if (liveGroups.size === 1) process.on('exit', killAll)
  }

  /** Sends SIGTERM to the whole group, and SIGKILL to the remaining processes after the grace period. */
  end(): void {
    if (this.#killTimer || this.#hasEnded) return
    this.signal('SIGTERM')
    this.#killTimer = globalThis.setTimeout(() => this.signal('SIGKILL'), this.#graceMs)
  }

  /**
   * Resolves when no process of the group is left; the remaining ones get the grace period, then SIGKILL. A process that is
   * stuck in the kernel is not waited for.
   */
  async waitForEnd(): Promise<void> {
    const maxWaitMs = this.#graceMs + afterKillMs
    let pollMs = 1
    for (let waitedMs = 0; waitedMs < maxWaitMs && (await this.#isAlive()); waitedMs += pollMs) {
      this.end()
      // Processes that end with their leader, as in a PID namespace, exit within a moment.
      pollMs = Math.min(pollMs * 2, maxPollMs)
      await setTimeout(pollMs)
    }
    this.#hasEnded = true
    clearTimeout(this.#killTimer)
    liveGroups.delete(this)
    if (liveGroups.size === 0) process.off('exit', killAll)
  }

  async #isAlive(): Promise<boolean> {
    return this.signal(0) && (await hasLivingMember(this.#id))
  }

  /** False when the group has no process any more. */
  signal(signal: NodeJS.Signals | 0): boolean {
    try {
      process.kill(-this.#id, signal)
      return true
    } catch (error) {
      return error instanceof Error && 'code' in error && error.code === 'EPERM'
    }
  }
}

const maxPollMs = 20
/** Longest wait for a process to disappear after SIGKILL. */
export const afterKillMs = 2_000

/** Groups that are killed when the control plane exits; they lead their own groups and would otherwise survive it. */
const liveGroups = new Set<ProcessGroup>()
const killAll = () => {
  for (const group of liveGroups) group.signal('SIGKILL')
}

/** Whether a member is alive. Zombies still accept signals: in a container without an init, they stay for ever. */
async function hasLivingMember(groupId: number): Promise<boolean> {
  const ids = await readdir('/proc').catch(() => null)
  if (!ids) return true
  const states = await Promise.all(
    ids.filter((id) => /^\d+$/.test(id)).map((id) => readFile(`/proc/${id}/stat`, 'utf8').catch(() => '')),
  )
  return states.some((stat) => {
    // Format: "pid (name) state parent group …", where the name may contain spaces and parentheses.
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(group) === groupId && state !== 'Z' && state !== 'X'
  })
}
