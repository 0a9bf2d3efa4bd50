import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { connectionSettings } from '../db/postgres.ts'
import type { Log } from '../log.ts'
import { Listeners } from './listeners.ts'
import { NotifyBatcher, type WireMessage } from './notify-batcher.ts'
import type { Signals } from './signals.ts'

const channel = 'berth_signals'
const firstPauseMs = 100
const maxPauseMs = 10_000

/** Signals between control planes that share a PostgreSQL. Listeners of this process are called directly, without a round trip. */
export async function postgresSignals(url: string, log: Log, options: { pingMs?: number } = {}): Promise<Signals> {
  const connection = new SignalConnection(url, log, options.pingMs ?? 15_000)
  await connection.open()
  return {
    publish: (topic, event) => connection.publish(topic, event),
    subscribe: (topic, listener) => connection.listeners.add(topic, listener),
    close: () => connection.close(),
  }
}

/** A connection that listens and notifies; reconnects when it is lost. */
class SignalConnection {
  readonly listeners: Listeners
  readonly #url: string
  readonly #log: Log
  readonly #pingMs: number
  readonly #origin = randomUUID()
  readonly #batcher = new NotifyBatcher()
  #client: pg.Client | undefined
  #isClosed = false
  #pauseMs = firstPauseMs
  #retry: NodeJS.Timeout | undefined
  #isSending = false

  constructor(url: string, log: Log, pingMs: number) {
    this.#url = url
    this.#log = log
    this.#pingMs = pingMs
    this.listeners = new Listeners(log)
  }

  async open(): Promise<void> {
    const client = new pg.Client({ ...connectionSettings(this.#url), connectionTimeoutMillis: 10_000, query_timeout: 10_000 })
    client.on('error', (error) => this.#onLost(client, error))
    client.on('end', () => this.#onLost(client, new Error('PostgreSQL closed the connection')))
    client.on('notification', ({ payload }) => this.#receive(payload ?? ''))
    try {
      await client.connect()
      await client.query(`listen ${channel}`)
    } catch (error) {
      await client.end().catch(() => {})
      throw error
    }
    if (this.#isClosed) return await client.end()
    this.#client = client
    this.#pauseMs = firstPauseMs
    this.#ping(client)
    void this.#send()
  }

  publish(topic: string, event: object): void {
    this.listeners.deliver(topic, event)
    this.#batcher.add(topic, event)
    void this.#send()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#retry)
    this.listeners.clear()
    const client = this.#client
    this.#client = undefined
    await client?.end().catch(() => {})
  }

  /** Sends one notification at a time; events that arrive meanwhile are sent together in the next. */
  async #send(): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    try {
      while (this.#client && !this.#batcher.isEmpty) {
        const client = this.#client
        const batch = this.#batcher.take()
        try {
          await client.query('select pg_notify($1, $2)', [channel, JSON.stringify({ from: this.#origin, messages: batch })])
        } catch (error) {
          // It is unknown whether the batch arrived; asking the others to read again is correct in both cases.
          for (const { topic } of batch) this.#batcher.addReread(topic)
          this.#onLost(client, error as Error)
        }
      }
    } finally {
      this.#isSending = false
    }
  }

  #receive(payload: string): void {
    const { from, messages } = JSON.parse(payload) as { from: string; messages: WireMessage[] }
    if (from === this.#origin) return
    for (const { topic, event } of messages) this.listeners.deliver(topic, event ?? { reread: true })
  }

  #onLost(client: pg.Client, error: Error): void {
    if (this.#client !== client) return
    this.#client = undefined
    client.end().catch(() => {})
    if (this.#isClosed) return
    this.#log.warn({ err: error }, 'signals: PostgreSQL connection lost')
    this.#reconnectLater()
  }

  #reconnectLater(): void {
    const pause = this.#pauseMs * (0.5 + Math.random() / 2)
    this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs)
    this.#retry = setTimeout(async () => {
      try {
        await this.open()
      } catch {
        if (!this.#isClosed) this.#reconnectLater()
        return
      }
      this.#log.info({}, 'signals: PostgreSQL connection restored')
      this.listeners.deliverToAll({ reread: true })
    }, pause)
  }

  /** A query detects a connection that was lost without being closed. */
  #ping(client: pg.Client): void {
    const timer = setInterval(() => {
      if (this.#client !== client) return clearInterval(timer)
      client.query('select 1').catch((error: Error) => this.#onLost(client, error))
    }, this.#pingMs)
    timer.unref()
  }
}
