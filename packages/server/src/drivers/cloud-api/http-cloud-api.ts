import http from 'node:http'
import https from 'node:https'
import type { Readable } from 'node:stream'
import { collectingYoung } from '../../platform/steady-memory.ts'
import { exchangeFailed, WebRequestFailed, WebRequestRefused } from '../web-request/failures.ts'
import { checkedUrl } from '../web-request/web-request.ts'
import { type CloudAddress, type CloudAnswer, type CloudApi, type CloudRequest, CloudUnreachable } from './cloud-api.ts'
import { type AgentOptions, KeepAliveAgents } from './keep-alive-agents.ts'

export interface CloudApiOptions extends AgentOptions {
  /** How long the cloud may let us wait for the head of its answer, or for room to send on. */
  patienceMs?: number
}

export function createCloudApi({ patienceMs = 4_500, ...options }: CloudApiOptions = {}): CloudApi {
  const agents = new KeepAliveAgents(options)
  const once = (address: CloudAddress, request: CloudRequest) => exchange(agents, patienceMs, address, request)
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
  patienceMs: number,
  { url, token, mayBeInside }: CloudAddress,
  { method, path, headers, body, isStream = false, abort }: CloudRequest,
): Promise<CloudAnswer> {
  abort?.throwIfAborted()
  const base = checked(() => {
    const address = checkedUrl(url)
    agents.refuseLiteral(address, mayBeInside)
    return address
  })
  const outgoing = (base.protocol === 'https:' ? https : http).request({
    agent: agents.of(base, { mayBeInside, isStream }),
    hostname: base.hostname.replace(/^\[|\]$/g, ''),
    port: base.port || null,
    path: `${base.pathname.replace(/\/$/, '')}${path}`,
    method,
    headers: { 'user-agent': 'Berth', ...headers, authorization: `Bearer ${token}`, host: base.host },
  })
  // Without the reason: a connection that is back among the kept ones has nobody who would take it.
  const giveUp = () => outgoing.destroy()
  abort?.addEventListener('abort', giveUp, { once: true })
  try {
    const answer = await headOf(outgoing, body, base, patienceMs)
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
  patienceMs: number,
): Promise<CloudAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
  const giveUp = () => outgoing.destroy(new CloudUnreachable(`${hostname} did not answer in time`))
  const clock = typeof body === 'object' ? patienceWith(outgoing, patienceMs, giveUp) : setTimeout(giveUp, patienceMs)
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
    clearInterval(clock)
  }
}

/** While a body is on its way, what counts is how long the cloud lets us wait, not the caller. */
function patienceWith(outgoing: http.ClientRequest, patienceMs: number, giveUp: () => void): NodeJS.Timeout {
  let waited = 0
  const step = Math.max(20, patienceMs / 20)
  return setInterval(() => {
    const waitsForCaller = outgoing.socket?.connecting === false && !outgoing.writableEnded && !outgoing.writableNeedDrain
    waited = waitsForCaller ? 0 : waited + step
    if (waited >= patienceMs) giveUp()
  }, step)
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
