import { Agent, type IncomingMessage, type OutgoingHttpHeaders, type RequestOptions, request as sendRequest } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { urlToHttpOptions } from 'node:url'
import type { AnyRoute } from '@berth/contract'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { Failure, fail } from '../platform/failure.ts'
import { addressOf, forwardedHeader, refusedHeader } from './client-address.ts'
import { continueBody } from './expect-continue.ts'
import { readRest } from './read-rest.ts'

export interface WorkerSettings {
  /** Where the worker listens: the origin of its HTTP server, or its unix socket. */
  at: { url: string } | { socketPath: string }
  /** Proves to the worker that a request comes from an API process of the same instance. */
  key: string
  /** Time to wait for a worker that starts again; default 10 s. */
  restartMs?: number
}

export type WorkerState = 'ok' | 'starting' | 'away'

/** A worker on a busy machine needs several seconds to start again. The request has not been sent to it yet. */
const restartMs = 10_000
const connectPauseMs = 100
/** Deadline of a response's head. A write may wait for a whole transfer. */
const readMs = 60_000
const writeMs = 30 * 60_000
const stateMs = 1_000
/** A state up to `freshStateMs` old is returned at once; above `refreshStateMs` a newer one is requested meanwhile. */
const freshStateMs = 2_000
const refreshStateMs = 500
/** If the worker does not respond within `quickStateMs`, its last state is returned, unless that is older than `usableStateMs`. */
const quickStateMs = 50
const usableStateMs = 10_000
const metricsMs = 5_000

const timedOutMessage =
  'The worker did not respond in time. If the request changes something, check whether that was done. Then try again.'

/** Headers of one connection, which are not passed on. `host` is passed on: origins are checked against it. */
const connectionHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'expect',
  'te',
])

/**
 * The worker, as an API process reaches it. A request that needs the worker is passed on unread: the worker authenticates,
 * validates and records it like any other. Bodies and responses are streamed, never collected.
 */
export class WorkerProxy {
  readonly #at: RequestOptions
  readonly #key: string
  readonly #restartMs: number
  #readingState: Promise<WorkerState> | undefined
  #lastState: { state: WorkerState; readAt: number } | undefined
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1_000 })

  constructor({ at, key, restartMs: waitMs = restartMs }: WorkerSettings) {
    this.#restartMs = waitMs
    this.#at = 'url' in at ? urlToHttpOptions(new URL(at.url)) : at
    this.#key = key
  }

  /** The route of a row that the worker answers. Streams end when this process stops. */
  route(at: string, row: AnyRoute, stopping: AbortSignal): RouteOptions {
    const [method, path] = at.split(' ') as [string, string]
    const forward = (request: FastifyRequest, reply: FastifyReply) => this.#forward(row, request, reply, stopping)
    return { method: method as 'GET', url: `/api${path}`, config: { row }, onRequest: forward, handler: forward }
  }

  /** Returns the last known state after 50 ms while the worker is busy, for example with a large response of a peer. */
  async state(): Promise<WorkerState> {
    const last = this.#lastState
    const ageMs = last ? performance.now() - last.readAt : Number.POSITIVE_INFINITY
    const current = ageMs > refreshStateMs ? this.#readState() : undefined
    if (last && (!current || ageMs < freshStateMs)) return last.state
    if (!last || ageMs > usableStateMs) return current as Promise<WorkerState>
    return Promise.race([current as Promise<WorkerState>, pause(quickStateMs, last.state)])
  }

  #readState(): Promise<WorkerState> {
    this.#readingState ??= this.#requestState()
      .then((state) => {
        this.#lastState = { state, readAt: performance.now() }
        return state
      })
      .finally(() => {
        this.#readingState = undefined
      })
    return this.#readingState
  }

  async #requestState(): Promise<WorkerState> {
    const abort = AbortSignal.timeout(stateMs)
    try {
      const answer = await this.#open({ method: 'GET', path: '/api/health', headers: {} }, abort)
      answer.resume()
      return answer.statusCode === 200 ? 'ok' : answer.statusCode === 503 ? 'starting' : 'away'
    } catch {
      return 'away'
    }
  }

  /** The worker's own metrics, as the token's owner may read them. */
  async metrics(bearer: string): Promise<string> {
    const headers = { authorization: `Bearer ${bearer}`, ...this.#forwardedFor('unknown http') }
    const answer = await this.#open({ method: 'GET', path: '/metrics', headers }, AbortSignal.timeout(metricsMs))
    const chunks: Buffer[] = []
    for await (const chunk of answer) chunks.push(chunk as Buffer)
    if (answer.statusCode !== 200) throw new Error(`the worker responded to GET /metrics with status ${answer.statusCode}`)
    return Buffer.concat(chunks).toString()
  }

  close(): void {
    this.#agent.destroy()
  }

  async #forward(row: AnyRoute, request: FastifyRequest, reply: FastifyReply, stopping: AbortSignal): Promise<FastifyReply> {
    const disconnected = new AbortController()
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) disconnected.abort()
    })
    // The worker may respond before it has received all of an upload.
    reply.raw.once('finish', () => readRest(request.raw))
    const deadline = new AbortController()
    const timer = setTimeout(() => deadline.abort(), row.method === 'GET' ? readMs : writeMs).unref()
    try {
      const answer = await this.#answerOf(
        request,
        reply,
        AbortSignal.any([disconnected.signal, deadline.signal, ...(row.stream ? [stopping] : [])]),
      )
      clearTimeout(timer)
      refuseWrongKey(answer)
      reply.hijack()
      reply.raw.writeHead(answer.statusCode as number, passedOn(answer.headers))
      // A stream's first event may come much later than its head.
      reply.raw.flushHeaders()
      await pipeline(answer, reply.raw).catch(() => reply.raw.destroy())
    } catch (error) {
      if (error instanceof Failure) throw error
      if (disconnected.signal.aborted) return reply.hijack()
      request.log.warn({ err: error, reqId: request.id }, 'api: worker not reachable')
      fail('unavailable', {
        message: deadline.signal.aborted ? timedOutMessage : 'The worker is not running. Try again.',
        retryAfterSeconds: 1,
      })
    } finally {
      clearTimeout(timer)
    }
    return reply
  }

  /**
   * Sends the request. A refused connection is tried again, since nothing was sent, and so is a read that the worker did not answer
   * because it ended: a restart of the worker is not noticed.
   */
  async #answerOf(request: FastifyRequest, reply: FastifyReply, abort: AbortSignal): Promise<IncomingMessage> {
    const headers = {
      ...passedOn(request.headers),
      ...this.#forwardedFor(`${addressOf(request)} ${request.clientProtocol}`),
    }
    const { method = '', url: path = '' } = request.raw
    const isRead =
      method === 'GET' && headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined
    const body = () => {
      continueBody(request.raw, reply.raw)
      return request.raw
    }
    const giveUpAt = performance.now() + this.#restartMs
    let isRepeated = false
    for (;;)
      try {
        return await this.#open({ method, path, headers }, abort, isRead ? undefined : body)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        // A worker that starts has not created its socket yet.
        const isRefused = code === 'ECONNREFUSED' || code === 'ENOENT'
        // Only once: the request itself may have ended the worker.
        const hasEnded: boolean = isRead && (code === 'ECONNRESET' || code === 'EPIPE') && !isRepeated
        isRepeated ||= hasEnded
        if (!(isRefused || hasEnded) || performance.now() > giveUpAt) throw error
        await pause(connectPauseMs, undefined, { signal: abort })
      }
  }

  /** `client`: its address and the protocol of its connection. */
  #forwardedFor(client: string): OutgoingHttpHeaders {
    return { [forwardedHeader]: `${this.#key} ${client}` }
  }

  /** Resolves with the head of the response. `body` is called once connected. */
  #open(
    { method, path, headers }: { method: string; path: string; headers: OutgoingHttpHeaders },
    abort: AbortSignal,
    body?: () => IncomingMessage,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const outgoing = sendRequest({ ...this.#at, path, method, headers, agent: this.#agent, signal: abort })
      outgoing.once('response', resolve)
      outgoing.once('error', reject)
      if (!body) return void outgoing.end()
      outgoing.once('socket', (socket) => {
        const start = () => body().pipe(outgoing)
        if (socket.connecting) socket.once('connect', start)
        else start()
      })
    })
  }
}

const passedOn = (headers: OutgoingHttpHeaders): OutgoingHttpHeaders =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => !connectionHeaders.has(name) && name !== forwardedHeader && name !== 'berth-edge'),
  )

function refuseWrongKey({ headers }: IncomingMessage): void {
  if (headers[refusedHeader] !== undefined)
    fail('unavailable', {
      message: 'The worker refused this API process. Start both with the same BERTH_SECRET_KEY.',
      retryAfterSeconds: 10,
    })
}
