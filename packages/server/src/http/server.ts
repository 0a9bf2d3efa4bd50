import { randomBytes } from 'node:crypto'
import { type AnyRoute, contract, type ModuleName, ProjectFile, ProjectsFile, type Rows, table } from '@berth/contract'
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController, type RawRequestDefaultExpression } from 'fastify'
import { Failure, fail, refuse } from '../platform/failure.ts'
import type { ApiMetrics } from './api-metrics.ts'
import { mayHaveInvalidText } from './clean-text.ts'
import { type ForwarderKeys, refuseDirectRequests, trustForwarders } from './client-address.ts'
import { answerMalformed, answerUnrouted, handleErrors, refuseExpectations } from './errors.ts'
import { delayContinue } from './expect-continue.ts'
import { isTooDeep, maxJsonDepth } from './json-depth.ts'
import { mountMcp } from './mcp/mount-mcp.ts'
import type { McpSettings } from './mcp/settings.ts'
import { mountRows } from './mount.ts'
import type { MountDeps } from './mount-deps.ts'
import { mountOwnRows } from './mount-own-rows.ts'
import { describeApi } from './openapi.ts'
import { createOrderedServer } from './pipelining.ts'
import { referencePage } from './reference-page.ts'
import { serializeLazily } from './serialize.ts'
import { validateLazily } from './validate.ts'
import type { WorkerProxy } from './worker-proxy.ts'
import { isWorkerRow } from './worker-rows.ts'

export interface HttpSettings {
  version: string
  logger: FastifyBaseLogger
  trustedProxies: readonly string[]
  /** The keys that our edge and API processes send with each forwarded request. */
  forwarderKeys: ForwarderKeys
  /** A worker answers forwarded requests only. */
  isWorker: boolean
  /** Absent: `/api/mcp` is not mounted. */
  mcp?: McpSettings
  apiMetrics?: Pick<ApiMetrics, 'record'>
}

/** Handlers of each module, by route name. */
export type ModuleHandlers = Partial<Record<ModuleName, object>>

/** The HTTP server: every route of the contract, and their common behaviour. */
export function createHttpServer(settings: HttpSettings, handlers: ModuleHandlers, deps: MountDeps): FastifyInstance {
  const requestIds = createRequestIds()
  const app = fastify({
    loggerInstance: settings.logger,
    // Requests are logged by the edge; failures are logged where they are answered.
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: settings.trustedProxies.length > 0 ? [...settings.trustedProxies] : false,
    // A logger per request is expensive and rarely used: log lines include the request id instead.
    childLoggerFactory: (logger) => logger,
    genReqId: requestIds,
    requestIdHeader: false,
    exposeHeadRoutes: false,
    rewriteUrl: answerHeadAsGet,
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: 253 },
    forceCloseConnections: 'idle',
    // Without these settings Node or Fastify would send errors in another format.
    return503OnClosing: false,
    http: { requireHostHeader: false },
    serverFactory: createOrderedServer,
    frameworkErrors: answerUnrouted,
    clientErrorHandler: answerMalformed(requestIds),
  })
  app.decorateRequest('state')
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    if (deps.stopping.aborted) fail('unavailable')
    if (request.headers.host === undefined && request.raw.httpVersion !== '1.0') refuse('host', 'the header is missing')
    done()
  })
  const { apiMetrics } = settings
  if (apiMetrics)
    app.addHook('onResponse', (_request, reply, done) => {
      const isStream = String(reply.getHeader('content-type')).startsWith('text/event-stream')
      apiMetrics.record(reply.statusCode, reply.elapsedTime / 1000, isStream)
      done()
    })
  trustForwarders(app, settings.forwarderKeys)
  if (settings.isWorker) refuseDirectRequests(app)
  parseBodies(app)
  validateLazily(app)
  serializeLazily(app)
  handleErrors(app)
  refuseExpectations(app, requestIds)
  delayContinue(app)
  for (const [module, rows] of Object.entries(contract) as [ModuleName, Rows][]) {
    const moduleHandlers = (handlers[module] ?? {}) as Record<string, unknown>
    const { worker } = deps
    if (!worker) mountRows(app, rows, moduleHandlers, deps)
    else mountOwnRows(app, module, ownRowsOf(module, rows), moduleHandlers, { ...deps, worker })
  }
  const workerRows = table.filter(({ module, name }) => isWorkerRow(module, name)).map(({ row }) => row)
  if (deps.worker) mountWorkerRows(app, workerRows, deps.worker, deps.stopping)
  if (settings.mcp) mountMcp(app, deps, settings.version, settings.mcp)
  serveReference(app, settings.version, deps.mode)
  return app
}

/**
 * Answers HEAD with the route of GET; Node leaves the body out. Separate HEAD routes would be a third of the route table, which is
 * built at every start.
 */
function answerHeadAsGet(request: RawRequestDefaultExpression): string {
  if (request.method === 'HEAD') request.method = 'GET'
  return request.url ?? '/'
}

/** The rows that an API process answers itself. */
const ownRowsOf = (module: ModuleName, rows: Rows): Rows =>
  Object.fromEntries(Object.entries(rows).filter(([name]) => !isWorkerRow(module, name)))

/** Mounts rows that the worker answers. */
export function mountWorkerRows(
  app: FastifyInstance,
  rows: readonly AnyRoute[],
  worker: WorkerProxy,
  stopping: AbortSignal,
): void {
  for (const row of rows) for (const at of [row.at, ...(row.alsoAt ?? [])]) app.route(worker.route(at, row, stopping))
}

function parseBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  const parse = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer
    const row = request.routeOptions.config.row as AnyRoute | undefined
    // A signed body is verified before it is parsed: any client may send it.
    if (row?.rawBody) {
      request.state.rawBody = bytes
      if (!row.body) return done(null, undefined)
    }
    if (bytes.length === 0) return done(null, undefined)
    if (isTooDeep(bytes))
      return done(new Failure('invalid_json', { message: `The JSON is nested deeper than ${maxJsonDepth} levels` }))
    const text = bytes.toString('utf8')
    if (mayHaveInvalidText(text)) request.state.mayHaveInvalidText = true
    parse(request, text, (error, value) => (error ? done(new Failure('invalid_json', { cause: error })) : done(null, value)))
  })
  // An upload is read by its handler, chunk by chunk.
  const uploads = ['application/gzip', 'application/octet-stream']
  app.addContentTypeParser(uploads, (_request, _payload, done) => done(null, undefined))
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    const row = request.routeOptions.config.row as AnyRoute | undefined
    if (row?.rawBody && body.length > 0) {
      request.state.rawBody = body as Buffer
      return done(null, undefined)
    }
    const isAccepted = body.length === 0 || row?.ignoresBody === true
    done(isAccepted ? null : new Failure('unsupported_media_type'), undefined)
  })
}

function serveReference(app: FastifyInstance, version: string, mode: MountDeps['mode']): void {
  let description: string | undefined
  let page: string | undefined
  app.get('/api/openapi.json', (_request, reply) => {
    description ??= JSON.stringify(describeApi(version, mode))
    return reply.type('application/json; charset=utf-8').send(description)
  })
  app.get('/api/berth.schema.json', (_request, reply) =>
    reply.type('application/schema+json; charset=utf-8').send(
      JSON.stringify({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        title: 'berth.json',
        anyOf: [ProjectFile, ProjectsFile],
      }),
    ),
  )
  app.get('/api/docs', (_request, reply) => {
    page ??= referencePage(version, mode)
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
      .send(page)
  })
}

/** Creates unique request ids: a random id of this process and a counter. A random id per request would cost more than routing. */
function createRequestIds(): () => string {
  const process = randomBytes(12).toString('base64url')
  let count = 0
  return () => `${process}-${(++count).toString(36)}`
}
