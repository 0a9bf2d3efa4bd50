import { readFile } from 'node:fs/promises'
import { anotherEdgeRuns, type EdgeSettings, edgeFiles } from '../../edge-proxy/protocol/edge-settings.ts'
import { spawnEdge } from '../../edge-proxy/protocol/spawn-edge.ts'
import { type EdgeLink, type EdgeLinkEvents, openEdgeLink } from './edge-link.ts'

const startMs = 15_000
const lookAgainMs = 20
const giveWayMs = 200
const reapMs = 1_000
export const defaultGraceMs = 5_000

export interface FinderEvents {
  onEvent: EdgeLinkEvents['onEvent']
  onClosed(link: EdgeLink): void
  onTrouble(words: string): void
}

/** Finds the edge of a folder, or sees to it that there is the right one. */
export class EdgeFinder {
  readonly #settings: EdgeSettings
  readonly #events: FinderEvents

  constructor(settings: EdgeSettings, events: FinderEvents) {
    this.#settings = settings
    this.#events = events
  }

  /** The edge that runs, if it is the right one; else one that takes over from it, else a new one. */
  async find(): Promise<EdgeLink> {
    const running = await this.open()
    if (!running) return this.#spawn()
    if (sameEdge(running.identity.settings, this.#settings)) return running
    if (sameSockets(running.identity.settings, this.#settings)) {
      try {
        // The old connection stays open: it still brings the records of requests that end there.
        await running.ask('handOver', [this.#settings])
        return await this.#untilOpen(() => undefined)
      } catch (cause) {
        this.#events.onTrouble(`the running edge did not hand over, it is restarted: ${String(cause)}`)
      }
    }
    await endEdge(running, defaultGraceMs)
    return this.#spawn()
  }

  /** Undefined when none runs. */
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

  /** A process that found another edge in the folder gives way to it; when that one was just going, the next one stays. */
  async #spawn(): Promise<EdgeLink> {
    const giveUpAt = Date.now() + startMs
    for (;;) {
      let ended: string | undefined
      let gaveWay = false
      const child = spawnEdge(this.#settings, 'first')
      child.once('error', (error) => {
        ended = error.message
      })
      child.once('exit', (code, signal) => {
        ended ??= `it ended with ${signal ?? code}`
        gaveWay = code === anotherEdgeRuns
      })
      try {
        return await this.#untilOpen(() => ended)
      } catch (cause) {
        if (!gaveWay || Date.now() > giveUpAt) throw cause
        await pause(giveWayMs)
      }
    }
  }

  async #untilOpen(ended: () => string | undefined): Promise<EdgeLink> {
    const giveUpAt = Date.now() + startMs
    for (;;) {
      // Asked before the look: one that answers and ends in between is not missed.
      const reason = ended() ?? (Date.now() > giveUpAt ? 'it did not answer in time' : undefined)
      const link = await this.open()
      if (link) return link
      if (reason) throw new Error(`the edge could not be started: ${reason}${await this.#lastWords()}`)
      await pause(lookAgainMs)
    }
  }

  async #lastWords(): Promise<string> {
    const log = await readFile(edgeFiles(this.#settings.folder).log, 'utf8').catch(() => '')
    const words = log.trim().split('\n').at(-1)
    return words ? ` (${words.slice(0, 500)})` : ''
  }
}

/** The end of the connection is the end of the process; asking after the pid alone would be fooled by one nobody reaped. */
export async function endEdge(link: EdgeLink, graceMs: number): Promise<void> {
  link.ask('stop', [graceMs]).catch(() => {})
  const inTime = await Promise.race([link.closed.then(() => true), unheldPause(graceMs + 2_000).then(() => false)])
  if (!inTime) killEdge(link)
  const giveUpAt = Date.now() + reapMs
  while (signalled(link.identity.pid, 0) && Date.now() < giveUpAt) await pause(lookAgainMs)
}

export const killEdge = (link: EdgeLink): boolean => signalled(link.identity.pid, 'SIGKILL')

/** False when there is no such process. */
function signalled(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
/** Does not keep this process from ending. */
const unheldPause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref())

const sameSockets = (a: EdgeSettings, b: EdgeSettings) => JSON.stringify([a.http, a.https]) === JSON.stringify([b.http, b.https])

const sameEdge = (a: EdgeSettings, b: EdgeSettings) => sameSockets(a, b) && a.buildId === b.buildId && a.workers === b.workers
