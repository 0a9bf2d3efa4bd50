import { readFile } from 'node:fs/promises'
import { anotherEdgeRuns, type EdgeSettings, edgeFiles } from '../../edge-proxy/protocol/edge-settings.ts'
import { spawnEdge } from '../../edge-proxy/protocol/spawn-edge.ts'
import { type EdgeLink, type EdgeLinkEvents, openEdgeLink } from './edge-link.ts'

const startTimeoutMs = 15_000
const pollIntervalMs = 20
const retryDelayMs = 200
const reapTimeoutMs = 1_000
export const defaultGraceMs = 5_000

export interface FinderEvents {
  onEvent: EdgeLinkEvents['onEvent']
  onClosed(link: EdgeLink): void
  onError(text: string): void
}

/** Finds the running edge of a folder, or starts the right one. */
export class EdgeFinder {
  readonly #settings: EdgeSettings
  readonly #events: FinderEvents
  /** An edge was running before the first search. Undefined before that search. */
  isAdopted: boolean | undefined

  constructor(settings: EdgeSettings, events: FinderEvents) {
    this.#settings = settings
    this.#events = events
  }

  /** Returns the running edge if it matches the settings; else a successor that takes over its sockets, else a new one. */
  async find(): Promise<EdgeLink> {
    const running = await this.open()
    this.isAdopted ??= running !== undefined
    if (!running) return this.#spawn()
    if (sameEdge(running.identity.settings, this.#settings)) return running
    if (sameSockets(running.identity.settings, this.#settings)) {
      try {
        // The old connection stays open: it still reports requests that end there.
        await running.call('handOver', [this.#settings])
        return await this.#waitUntilOpen(() => undefined)
      } catch (cause) {
        this.#events.onError(`the running edge did not hand over and is restarted: ${String(cause)}`)
      }
    }
    await endEdge(running, defaultGraceMs)
    return this.#spawn()
  }

  /** Undefined when no edge runs. */
  async open(): Promise<EdgeLink | undefined> {
    let opened: EdgeLink | undefined
    const link = await openEdgeLink(edgeFiles(this.#settings.folder).socket, {
      onEvent: (event) => this.#events.onEvent(event),
      onClosed: () => {
        if (opened) this.#events.onClosed(opened)
      },
    })
    opened = link
    return link
  }

  /**
   * Starts an edge. A process that finds another edge in the folder exits; if that one was just stopping, the next attempt
   * succeeds.
   */
  async #spawn(): Promise<EdgeLink> {
    const giveUpAt = Date.now() + startTimeoutMs
    for (;;) {
      let endReason: string | undefined
      let foundAnother = false
      const child = spawnEdge(this.#settings, 'first')
      child.once('error', (error) => {
        endReason = error.message
      })
      child.once('exit', (code, signal) => {
        endReason ??= `it ended with ${signal ?? code}`
        foundAnother = code === anotherEdgeRuns
      })
      try {
        return await this.#waitUntilOpen(() => endReason)
      } catch (cause) {
        if (!foundAnother || Date.now() > giveUpAt) throw cause
        await pause(retryDelayMs)
      }
    }
  }

  async #waitUntilOpen(ended: () => string | undefined): Promise<EdgeLink> {
    const giveUpAt = Date.now() + startTimeoutMs
    for (;;) {
      // Read before the attempt to connect, so that an edge that answers and then exits is not missed.
      const reason = ended() ?? (Date.now() > giveUpAt ? 'it did not answer in time' : undefined)
      const link = await this.open()
      if (link) return link
      if (reason) throw new Error(`the edge could not be started: ${reason}${await this.#lastLines()}`)
      await pause(pollIntervalMs)
    }
  }

  async #lastLines(): Promise<string> {
    const log = await readFile(edgeFiles(this.#settings.folder).log, 'utf8').catch(() => '')
    const message = log.trim().split('\n').at(-1)
    return message ? ` (${message.slice(0, 500)})` : ''
  }
}

/** Stops an edge. The end of its connection shows that it ended: the pid alone may belong to a zombie that was not reaped. */
export async function endEdge(link: EdgeLink, graceMs: number): Promise<void> {
  link.call('stop', [graceMs]).catch(() => {})
  const inTime = await Promise.race([link.closed.then(() => true), unrefPause(graceMs + 2_000).then(() => false)])
  if (!inTime) killEdge(link)
  const giveUpAt = Date.now() + reapTimeoutMs
  while (sendSignal(link.identity.pid, 0) && Date.now() < giveUpAt) await pause(pollIntervalMs)
}

export const killEdge = (link: EdgeLink): boolean => sendSignal(link.identity.pid, 'SIGKILL')

/** Returns false when there is no such process. */
function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
/** A pause that does not keep this process running. */
const unrefPause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref())

const sameSockets = (a: EdgeSettings, b: EdgeSettings) => socketsText(a) === socketsText(b)
const socketsText = ({ http, https, front }: EdgeSettings) => JSON.stringify([http, https, front ?? null])

const sameEdge = (a: EdgeSettings, b: EdgeSettings) => sameSockets(a, b) && a.buildId === b.buildId && a.workers === b.workers
