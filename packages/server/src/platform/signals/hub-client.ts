import { connect, type Socket } from 'node:net'
import type { Log } from '../log.ts'
import { socketAddress } from '../socket-path.ts'
import { Listeners } from './listeners.ts'
import type { Signals } from './signals.ts'
import { everyTopic, SignalLink } from './wire.ts'

const firstPauseMs = 20
const longestPauseMs = 1_000

/** Signals of a process that has not locked the data folder, through the hub of the process that has. Reconnects automatically. */
export function hubSignals(path: string, log: Log): Signals {
  const client = new HubClient(path, log)
  client.connect()
  return {
    publish: (topic, event) => client.publish(topic, event),
    subscribe: (topic, listener) => client.listeners.add(topic, listener),
    close: async () => client.close(),
  }
}

class HubClient {
  readonly listeners: Listeners
  readonly #path: string
  readonly #log: Log
  readonly #link = new SignalLink()
  #socket: Socket | undefined
  #pauseMs = firstPauseMs
  #retry: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(path: string, log: Log) {
    this.#path = path
    this.#log = log
    this.listeners = new Listeners(log)
  }

  connect(): void {
    const socket = connect(socketAddress(this.#path))
    this.#socket = socket
    socket.on('error', (err) => this.#log.debug({ err }, 'signals: worker not reachable'))
    socket.once('connect', () => {
      this.#pauseMs = firstPauseMs
      this.#link.open(socket, ({ topic, event }) => {
        if (topic === everyTopic) this.listeners.deliverToAll({ reread: true })
        else this.listeners.deliver(topic, event ?? { reread: true })
      })
      // Signals were missed until now.
      this.listeners.deliverToAll({ reread: true })
    })
    socket.once('close', () => this.#connectLater())
  }

  publish(topic: string, event: object): void {
    this.listeners.deliver(topic, event)
    this.#link.add(topic, event)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    this.listeners.clear()
    this.#link.flush()
    this.#socket?.destroy()
  }

  #connectLater(): void {
    if (this.#isClosed) return
    this.#retry = setTimeout(() => this.connect(), this.#pauseMs * (0.5 + Math.random() / 2))
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs)
  }
}
