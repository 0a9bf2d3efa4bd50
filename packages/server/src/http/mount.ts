import { type AnyRoute, limits, type Rows } from '@berth/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { type Awaitable, thenSync } from '../platform/awaitable.ts'
import { fail } from '../platform/failure.ts'
import { admit } from './admit.ts'
import { auditEventOf } from './audit-event.ts'
import { checkBody } from './clean-text.ts'
import {
  type CloudProxy,
  checkRole,
  isInCloud,
  mayBeInCloud,
  ProjectMovedBack,
  readsBody,
  refuseOtherObjects,
  wasForwarded,
  withCloudUpload,
} from './cloud-proxy.ts'
import { continueBody } from './expect-continue.ts'
import { forward } from './forward.ts'
import type { Caller } from './handler.ts'
import { LargeBodies } from './large-bodies.ts'
import type { MountDeps } from './mount-deps.ts'
import { prepareQuery } from './prepare-query.ts'
import { type AnyHandler, notBuiltYet, run } from './run.ts'
import { dropUnknownFields } from './unknown-fields.ts'
import { replyOf } from './warnings.ts'

/** Mounts each route with its handler; a route whose module is not built yet answers 501 after authorization. */
export function mountRows(app: FastifyInstance, rows: Rows, handlers: Record<string, unknown>, deps: MountDeps): void {
  for (const [name, row] of Object.entries(rows)) {
    const handle = (handlers[name] as AnyHandler | undefined) ?? notBuiltYet
    const isAbsent = row.selfHostedOnly && deps.mode === 'cloud'
    for (const at of [row.at, ...(row.alsoAt ?? [])]) app.route(isAbsent ? absentRoute(at) : optionsOf(at, row, handle, deps))
  }
}

/** A route that does not exist on the cloud service. Without it, `/projects/local` would match the project `local`. */
function absentRoute(at: string): RouteOptions {
  const [method, path] = at.split(' ') as [string, string]
  return { method: method as 'GET', url: `/api${path}`, handler: noSuchRoute, onRequest: noSuchRoute }
}

const noSuchRoute = async (): Promise<never> => fail('not_found', { message: 'This route does not exist' })

export function optionsOf(at: string, row: AnyRoute, handle: AnyHandler, deps: MountDeps): RouteOptions {
  const [method, path] = at.split(' ') as [string, string]
  return {
    method: method as 'GET',
    url: `/api${path}`,
    config: { row },
    bodyLimit: row.bodyBytes ?? limits.bodyBytes,
    schema: {
      ...(row.query ? { querystring: row.query } : {}),
      ...(row.body ? { body: row.body } : {}),
      ...(row.returns ? { response: { '2xx': replyOf(row) } } : {}),
    },
    ...stepsOf(row, handle, deps),
    preValidation: (request, _reply, done) => {
      if (row.method !== 'GET') prepareBody(row, request)
      prepareQuery(row, request)
      done()
    },
  }
}

/**
 * The steps of a route. A call about a cloud object is forwarded before its body is read, or after, if the body must be inspected.
 */
function stepsOf(row: AnyRoute, handle: AnyHandler, deps: MountDeps): Pick<RouteOptions, 'onRequest' | 'handler'> {
  const { cloud } = deps
  if (row.public && (row.bodyBytes ?? 0) > limits.bodyBytes) return largeBodySteps(row, handle, deps)
  if (!cloud || !mayBeInCloud(row))
    return {
      onRequest: (request, _reply, done) => admit(row, request, deps) ?? done(),
      handler: (request, reply) => run(row, handle, request, reply, deps),
    }
  const forwardToCloud = createForwarder(row, { ...deps, cloud })
  const isForwardedWithBody = (request: FastifyRequest) => readsBody(row, request.state.caller as Caller)
  return {
    onRequest: (request, reply, done) =>
      thenSync(admit(row, request, deps), () =>
        isForwardedWithBody(request) ? undefined : withoutResult(forwardToCloud(request, reply)),
      ) ?? done(),
    handler: (request, reply) => {
      const answer = () => run(row, handle, request, reply, deps)
      if (!isForwardedWithBody(request)) return answer()
      return thenSync(forwardToCloud(request, reply, { withBody: true }), (isForwarded) => (isForwarded ? undefined : answer()))
    },
  }
}

function largeBodySteps(row: AnyRoute, handle: AnyHandler, deps: MountDeps): Pick<RouteOptions, 'onRequest' | 'handler'> {
  const largeBodies = new LargeBodies()
  return {
    onRequest: (request, reply, done) =>
      thenSync(admit(row, request, deps), () => largeBodies.admit(request, reply, limits.bodyBytes)) ?? done(),
    handler: (request, reply) => run(row, handle, request, reply, deps),
  }
}

/** Drops the result: Fastify detects by itself whether a response was sent. */
const withoutResult = (isForwarded: Awaitable<boolean>): Awaitable<void> =>
  isForwarded instanceof Promise ? isForwarded.then(() => {}) : undefined

/** Creates a function that forwards a request; it returns true once the cloud has answered. */
function createForwarder(row: AnyRoute, deps: MountDeps & { cloud: CloudProxy }) {
  return (request: FastifyRequest, reply: FastifyReply, { withBody = false } = {}): Awaitable<boolean> => {
    if (wasForwarded(request)) return false
    const caller = request.state.caller as Caller
    return thenSync(isInCloud(row, request, caller, deps), (isRemote) => {
      if (!isRemote) return false
      if (withBody) refuseOtherObjects(row, request.body, caller)
      const record = () => deps.auditLog.record({ ...auditEventOf(row, request), changes: { askedIn: 'cloud' } })
      if (!withBody) continueBody(request.raw, reply.raw)
      if (!withBody) return forward(row, request, reply, deps, { record }).then(isAnswered, answerHereIfMovedBack)
      return forwardRead(row, request, reply, deps, record).then(isAnswered, answerHereIfMovedBack)
    })
  }
}

const isAnswered = (): boolean => true

/** Returns false if the project has moved to this instance meanwhile: the request is answered here. */
function answerHereIfMovedBack(error: unknown): boolean {
  if (error instanceof ProjectMovedBack) return false
  throw error
}

/** Forwards a call whose body was already read. */
async function forwardRead(
  row: AnyRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: MountDeps & { cloud: CloudProxy },
  record: () => Promise<void>,
): Promise<FastifyReply> {
  const { params, state } = request
  const caller = state.caller as Caller
  checkRole(row, caller)
  const body = await withCloudUpload(row, { params, body: state.bodyAsSent ?? request.body, caller }, deps.cloud)
  return forward(row, request, reply, deps, { readBody: JSON.stringify(body), record })
}

function prepareBody(row: AnyRoute, request: FastifyRequest): void {
  const { state } = request
  if (state.mayHaveInvalidText) checkBody(request.body)
  if (request.body === undefined) {
    if (row.body) request.body = {}
    return
  }
  const bodyAsSent = state.caller && readsBody(row, state.caller) ? structuredClone(request.body) : undefined
  const warnings = dropUnknownFields(row.body ?? noFields, request.body)
  if (warnings.length === 0) return
  state.warnings = warnings
  state.bodyAsSent = bodyAsSent
}

/** The body schema of a route that declares none: it accepts no field. */
const noFields = { properties: {} }
