import http from 'node:http'
import https from 'node:https'
import type { Readable } from 'node:stream'
import { collectingYoung } from '../../platform/steady-memory.ts'
import { exchangeFailed, WebRequestFailed, WebRequestRefused } from '../web-request/failures.ts'
import { checkedUrl } from '../web-request/web-request.ts'
import { type CloudAddress, type CloudAnswer, type CloudApi, type CloudRequest, CloudUnreachable } from './cloud-api.ts'
import { type AgentOptions, KeepAliveAgents } from './keep-alive-agents.ts'
import { watchForStall } from './stall-watch.ts'

export interface CloudApiOptions extends AgentOptions {
  /** How long the cloud may let us wait for the head of its answer, or for room to send on, before it is asked whether it is there. */
  silenceMs?: number
  /** How long one that is there may work on an answer. */
  longestMs?: number
}

interface Waiting {
  silenceMs: number
  longestMs: number
}

export function createCloudApi({ silenceMs = 3_500, longestMs = 120_000, ...options }: CloudApiOptions = {}): CloudApi {
  const agents = new KeepAliveAgents(options)
  const once = (address: CloudAddress, request: CloudRequest) => exchange(agents, { silenceMs, longestMs }, address, request)
  return {
    async send(address, request) {
      try {
        return await once(address, request)
      } catch (error) {
        // The cloud closed a connection that had been idle just when we took it; nothing of the request was read.
        if (!(error instanceof ConnectionWasStale) || request.body !== undefined) throw error
        return once(address, request)
      }
    },
    close: () => agents.close(),
  }
}

class ConnectionWasStale extends CloudUnreachable {}

async function exchange(
  agents: KeepAliveAgents,
  waiting: Waiting,
  { url, token, mayBeInside }: CloudAddress,
  { method, path, headers, body, isStream = false, abort }: CloudRequest,
): Promise<CloudAnswer> {
  abort?.throwIfAborted()
  const base = checked(() => {
    const address = checkedUrl(url)
    agents.refuseLiteral(address, mayBeInside)
    return address
  })
  const outgoing = requestTo(base, agents.of(base, { mayBeInside, isStream }), {
    method,
    path,
    headers: { 'user-agent': 'Berth', ...headers, authorization: `Bearer ${token}`, host: base.host },
  })
  const isAlive = () => answersHealth(base, agents.of(base, { mayBeInside, isStream: false }))
  // Without the reason: a connection that is back among the kept ones has nobody who would take it.
  const giveUp = () => outgoing.destroy()
  abort?.addEventListener('abort', giveUp, { once: true })
  try {
    const answer = await headOf(outgoing, body, base, { ...waiting, isAlive })
    answer.body.once('close', () => abort?.removeEventListener('abort', giveUp))
    return answer
  } catch (error) {
    abort?.removeEventListener('abort', giveUp)
    abort?.throwIfAborted()
    throw error
  }
}

/** The head of the answer. Our patience runs only while it is the cloud that we wait for. */
async function headOf(
  outgoing: http.ClientRequest,
  body: CloudRequest['body'],
  { hostname }: URL,
  waiting: Waiting & { isAlive(): Promise<boolean> },
): Promise<CloudAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
  const giveUp = () => outgoing.destroy(new CloudUnreachable(`${hostname} did not answer in time`))
  const waitsForCaller = () => outgoing.socket?.connecting === false && !outgoing.writableEnded && !outgoing.writableNeedDrain
  const stopWaiting = watchForStall({ ...waiting, waitsForCaller, giveUp })
  outgoing.on('error', reject)
  outgoing.once('response', resolve)
  send(outgoing, body)
  try {
    return checkedAnswer(await promise, hostname)
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

const healthWithinMs = 1_000

/** Whether this product answers there at all; nothing of anybody's is sent. */
function answersHealth(base: URL, agent: http.Agent): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const asked = requestTo(base, agent, { method: 'GET', path: '/api/health', headers: { host: base.host } })
  const late = setTimeout(() => asked.destroy(), healthWithinMs)
  asked.once('response', (answer) => {
    answer.on('error', () => {}).resume()
    resolve(answer.statusCode === 200 && answer.headers['x-request-id'] !== undefined)
  })
  asked.once('error', () => resolve(false)).once('close', () => resolve(false))
  asked.end()
  return promise.finally(() => clearTimeout(late))
}

function send(outgoing: http.ClientRequest, body: Readable | string | undefined): void {
  if (body === undefined || typeof body === 'string') return void outgoing.end(body)
  body.once('error', (error) => outgoing.destroy(error))
  body.once('close', () => {
    if (!body.readableEnded) outgoing.destroy(new CloudUnreachable('the caller went away'))
  })
  body.on('data', collectingYoung())
  body.pipe(outgoing)
}

/** Every answer of this product carries a request id: what has none is somebody else's page, however well it is formed. */
function checkedAnswer(response: http.IncomingMessage, hostname: string): CloudAnswer {
  const headers = Object.fromEntries(Object.entries(response.headers).filter(([, value]) => value !== undefined))
  if (!headers['x-request-id']) {
    response.destroy()
    throw new CloudUnreachable(`${hostname} answered with something that is not Berth`)
  }
  // Whoever reads it is told; where nobody does any more, it is nobody's loss.
  response.on('error', () => {})
  return { status: response.statusCode ?? 0, headers: headers as CloudAnswer['headers'], body: response }
}

function checked<T>(look: () => T): T {
  try {
    return look()
  } catch (error) {
    throw unreachable(error, 'the cloud')
  }
}

function unreachable(error: unknown, hostname: string): CloudUnreachable {
  if (error instanceof CloudUnreachable) return error
  const known = error instanceof WebRequestRefused || error instanceof WebRequestFailed ? error : exchangeFailed(hostname, error)
  return new CloudUnreachable(known.message)
}
