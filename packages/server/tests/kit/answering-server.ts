import { type AnyRoute, contract } from '@berth/contract'
import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../src/http/handler.ts'
import type { MountDeps } from '../../src/http/mount-deps.ts'
import { ReadSlots } from '../../src/http/read-slots.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { createLogger } from '../../src/instance/logger.ts'
import { createScrubber } from '../../src/platform/secrets/scrubber.ts'
import { sampleOf } from './sample-reply.ts'

export interface AnsweringServer {
  app: FastifyInstance
  /** The body that the last handler was given. */
  lastBody(): unknown
  /** The query that the last handler was given. */
  lastQuery(): unknown
}

/**
 * Starts the HTTP server without modules: every caller is the owner, every object exists, and each handler returns the smallest valid
 * reply of its route once `before` has resolved.
 */
export async function startAnsweringServer(before: () => Promise<void> = async () => {}): Promise<AnsweringServer> {
  let last: unknown
  let lastQuery: unknown
  const handlerOf = (row: AnyRoute) => async (input: { body: unknown; query: unknown; upload?: AsyncIterable<Uint8Array> }) => {
    await before()
    last = input.body
    lastQuery = input.query
    if (row.upload) for await (const _ of input.upload as AsyncIterable<Uint8Array>);
    return row.returns ? sampleOf(row.returns) : undefined
  }
  const handlers = Object.fromEntries(
    Object.entries(contract).map(([module, rows]) => [
      module,
      Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, handlerOf(row as AnyRoute)])),
    ]),
  )
  const logger = await createLogger({ level: 'silent', scrubber: createScrubber(), format: 'json' })
  const app = createHttpServer(
    { version: '0', logger, trustedProxies: [], forwarderKeys: { api: [], edge: ['x'] }, isWorker: false },
    handlers,
    deps(),
  )
  return { app, lastBody: () => last, lastQuery: () => lastQuery }
}

function deps(): MountDeps {
  const caller: Caller = {
    userId: 'usr_x',
    email: 'owner@example.test',
    organizationId: 'org_x',
    role: 'owner',
    via: 'token',
    sessionId: null,
    tokenId: 'tok_x',
    scopes: null,
    projectIds: null,
    needsSecondFactor: false,
    expiresAt: null,
  }
  const any = () => ({ id: 'x', projectId: 'prj_x', organizationId: 'org_x' })
  return {
    mode: 'self-hosted',
    authenticator: {
      authenticate: () => caller,
      renew: () => caller,
      grantedLevel: () => undefined,
      highestGrant: async () => undefined,
      isOperator: () => true,
    },
    loaders: new Proxy({}, { get: () => any }),
    limiter: { count: () => {}, uncount: () => {} } as unknown as MountDeps['limiter'],
    auditLog: { append: async () => {}, record: async () => {} },
    spendStreamToken: async () => caller,
    useUploadToken: async () => caller,
    noteStreamToken: async () => {},
    stopping: new AbortController().signal,
    reads: new ReadSlots(),
    streams: { add: () => () => {}, publishAccessChange: () => {} } as unknown as MountDeps['streams'],
  }
}
