import http from 'node:http'
import https from 'node:https'
import type { Readable } from 'node:stream'
import { createYoungCollector } from '../../platform/steady-memory.ts'
import { exchangeFailed, WebRequestFailed, WebRequestRefused } from '../web-request/failures.ts'
import { checkedUrl } from '../web-request/web-request.ts'
import { type CloudAddress, type CloudApi, type CloudRequest, type CloudResponse, CloudUnreachable } from './cloud-api.ts'
import { type AgentOptions, KeepAliveAgents } from './keep-alive-agents.ts'
import { watchForStall } from './stall-watch.ts'

export interface CloudApiOptions extends AgentOptions {
  /** How long to wait for the response head, or for a writable socket, before checking whether the cloud is alive. */
  silenceMs?: number
  /** How long a live cloud may take for a response. */
  maxMs?: number
}

interface WaitLimits {
  silenceMs: number
  maxMs: number
}

export function createCloudApi({ silenceMs = 3_500, maxMs = 120_000, ...options }: CloudApiOptions = {}): CloudApi {
  const agents = new KeepAliveAgents(options)
  const sendOnce = (address: CloudAddress, request: CloudRequest) => exchange(agents, { silenceMs, maxMs }, address, request)
  return {
    async send(address, request) {
      try {
        return await sendOnce(address, request)
      } catch (error) {
        // The cloud closed an idle pooled connection just when it was reused; it has read nothing of the request.
        if (!(error instanceof ConnectionWasStale) || request.body !== undefined) throw error
        return sendOnce(address, request)
      }
    },
    close: () => agents.close(),
  }
}

class ConnectionWasStale extends CloudUnreachable {}

async function exchange(
  agents: KeepAliveAgents,
  limits: WaitLimits,
  { url, token, mayBeInside }: CloudAddress,
  { method, path, headers, body, isStream = false, abort }: CloudRequest,
): Promise<CloudResponse> {
  abort?.throwIfAborted()
  const base = withUnreachable(() => {
    const address = checkedUrl(url)
    agents.refuseLiteral(address, mayBeInside)
    return address
  })
  const outgoing = requestTo(base, agents.agentFor(base, { mayBeInside, isStream }), {
    method,
    path,
    headers: { 'user-agent': 'Berth', ...headers, authorization: `Bearer ${token}`, host: base.host },
  })
  const isAlive = () => isHealthy(base, agents.agentFor(base, { mayBeInside, isStream: false }))
  // Destroyed without an error: a connection that is back in the pool has no error listener.
  const giveUp = () => outgoing.destroy()
  abort?.addEventListener('abort', giveUp, { once: true })
  try {
    const answer = await waitForHead(outgoing, body, base, { ...limits, isAlive })
    answer.body.once('close', () => abort?.removeEventListener('abort', giveUp))
    return answer
  } catch (error) {
    abort?.removeEventListener('abort', giveUp)
    abort?.throwIfAborted()
    throw error
  }
}

/** Waits for the response head. Only time spent waiting for the cloud counts. */
async function waitForHead(
  outgoing: http.ClientRequest,
  body: CloudRequest['body'],
  { hostname }: URL,
  waiting: WaitLimits & { isAlive(): Promise<boolean> },
): Promise<CloudResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
  const giveUp = () => outgoing.destroy(new CloudUnreachable(`${hostname} did not answer in time`))
  const waitsForCaller = () => outgoing.socket?.connecting === false && !outgoing.writableEnded && !outgoing.writableNeedDrain
  const stopWaiting = watchForStall({ ...waiting, waitsForCaller, giveUp })
  outgoing.on('error', reject)
  outgoing.once('response', resolve)
  send(outgoing, body)
  try {
    return validateResponse(await promise, hostname)
  } catch (error) {
    outgoing.destroy()
    const stale = outgoing.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET'
    throw stale ? new ConnectionWasStale(`${hostname} closed the connection`) : unreachable(error, hostname)
  } finally {
    stopWaiting()
  }
}

function requestTo(
  base: URL,
  agent: http.Agent,
  options: Pick<http.RequestOptions, 'method' | 'headers' | 'timeout'> & { path: string },
) {
  return (base.protocol === 'https:' ? https : http).request({
    ...options,
    agent,
    hostname: base.hostname.replace(/^\[|\]$/g, ''),
    port: base.port || null,
    path: `${base.pathname.replace(/\/$/, '')}${options.path}`,
  })
}

const healthTimeoutMs = 1_000

/** Whether Berth answers there; the request contains no user data. */
function isHealthy(base: URL, agent: http.Agent): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const outgoing = requestTo(base, agent, { method: 'GET', path: '/api/health', headers: { host: base.host } })
  const timer = setTimeout(() => outgoing.destroy(), healthTimeoutMs)
  outgoing.once('response', (answer) => {
    answer.on('error', () => {}).resume()
    resolve(answer.statusCode === 200 && answer.headers['x-request-id'] !== undefined)
  })
  outgoing.once('error', () => resolve(false)).once('close', () => resolve(false))
  outgoing.end()
  return promise.finally(() => clearTimeout(timer))
}

function send(outgoing: http.ClientRequest, body: Readable | string | undefined): void {
  if (body === undefined || typeof body === 'string') {
    outgoing.end(body)
    return
  }
  body.once('error', (error) => outgoing.destroy(error))
  body.once('close', () => {
    if (!body.readableEnded) outgoing.destroy(new CloudUnreachable('the caller closed the connection'))
  })
  body.on('data', createYoungCollector())
  body.pipe(outgoing)
}

/** Checks for a request id, which every response of Berth has: without one the page is from another program. */
function validateResponse(response: http.IncomingMessage, hostname: string): CloudResponse {
  const headers = Object.fromEntries(Object.entries(response.headers).filter(([, value]) => value !== undefined))
  if (!headers['x-request-id']) {
    response.destroy()
    throw new CloudUnreachable(`${hostname} is not a Berth instance`)
  }
  // A reader of the body gets the error through its own listener; without a reader it can be ignored.
  response.on('error', () => {})
  return { status: response.statusCode ?? 0, headers: headers as CloudResponse['headers'], body: response }
}

function withUnreachable<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    throw unreachable(error, 'the cloud')
  }
}

function unreachable(error: unknown, hostname: string): CloudUnreachable {
  if (error instanceof CloudUnreachable) return error
  const known = error instanceof WebRequestRefused || error instanceof WebRequestFailed ? error : exchangeFailed(hostname, error)
  return new CloudUnreachable(known.message)
}
