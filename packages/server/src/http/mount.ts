import { type AnyRoute, limits, type Rows } from '@berth/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { type Awaitable, after } from '../platform/awaitable.ts'
import { fail } from '../platform/failure.ts'
import { admit } from './admit.ts'
import { auditEventOf } from './audit-event.ts'
import { checkBody } from './clean-text.ts'
import { type Elsewhere, isElsewhere, mayBeElsewhere, wasForwarded } from './elsewhere.ts'
import { forward } from './forward.ts'
import type { Caller } from './handler.ts'
import type { MountDeps } from './mount-deps.ts'
import { type AnyHandler, notBuiltYet, run } from './run.ts'

/** Mounts each row with its handler; a row whose module is not built yet answers 501 once the guard let it through. */
export function mountRows(app: FastifyInstance, rows: Rows, handlers: Record<string, unknown>, deps: MountDeps): void {
  for (const [name, row] of Object.entries(rows)) {
    const handle = (handlers[name] as AnyHandler | undefined) ?? notBuiltYet
    const isAbsent = row.selfHostedOnly && deps.mode === 'cloud'
    for (const at of [row.at, ...(row.alsoAt ?? [])]) app.route(isAbsent ? absent(at) : optionsOf(at, row, handle, deps))
  }
}

/** On the cloud service `/projects/local` would else be taken for the project `local`. */
function absent(at: string): RouteOptions {
  const [method, path] = at.split(' ') as [string, string]
  return { method: method as 'GET', url: `/api${path}`, handler: noSuchRoute, onRequest: noSuchRoute }
}

const noSuchRoute = async (): Promise<never> => fail('not_found', { words: 'There is no such route' })

function optionsOf(at: string, row: AnyRoute, handle: AnyHandler, deps: MountDeps): RouteOptions {
  const [method, path] = at.split(' ') as [string, string]
  return {
    method: method as 'GET',
    url: `/api${path}`,
    config: { row },
    bodyLimit: row.bodyBytes ?? limits.bodyBytes,
    schema: {
      ...(row.query ? { querystring: row.query } : {}),
      ...(row.body ? { body: row.body } : {}),
      ...(row.returns ? { response: { '2xx': row.returns } } : {}),
    },
    ...stepsOf(row, handle, deps),
    ...(row.method === 'GET' ? {} : { preValidation: (request, _reply, done) => done(void prepareBody(row, request)) }),
  }
}

/** What the path names and is not here is asked of the cloud before a byte of the body is read; what the body names, after. */
function stepsOf(row: AnyRoute, handle: AnyHandler, deps: MountDeps): Steps {
  const admitted = (request: FastifyRequest) => admit(row, request, deps)
  const answered = (request: FastifyRequest, reply: FastifyReply) => run(row, handle, request, reply, deps)
  const { elsewhere } = deps
  const onlyHere = { onRequest: (request, _reply, done) => admitted(request) ?? done(), handler: answered } satisfies Steps
  if (!elsewhere || !mayBeElsewhere(row)) return onlyHere
  const passOn = passingOn(row, { ...deps, elsewhere })
  if (row.inBody)
    return {
      ...onlyHere,
      handler: (request, reply) =>
        after(passOn(request, reply, JSON.stringify(request.body)), (isPassedOn) =>
          isPassedOn ? undefined : answered(request, reply),
        ),
    }
  return {
    ...onlyHere,
    onRequest: (request, reply, done) => after(admitted(request), () => settled(passOn(request, reply))) ?? done(),
  }
}

type Steps = Pick<RouteOptions, 'onRequest' | 'handler'>

/** Fastify looks itself whether an answer has gone out. */
const settled = (passedOn: Awaitable<boolean>): Awaitable<void> =>
  passedOn instanceof Promise ? passedOn.then(() => {}) : undefined

/** Gives true once the cloud has answered instead of this instance. */
function passingOn(row: AnyRoute, deps: MountDeps & { elsewhere: Elsewhere }) {
  return (request: FastifyRequest, reply: FastifyReply, readBody?: string): Awaitable<boolean> => {
    if (wasForwarded(request)) return false
    return after(isElsewhere(row, request, request.state.caller as Caller, deps), (elsewhere) => {
      if (!elsewhere) return false
      const record = () => deps.recordAudit({ ...auditEventOf(row, request), changes: { askedIn: 'cloud' } })
      return forward(row, request, reply, deps, { ...(readBody === undefined ? {} : { readBody }), record })
    })
  }
}

function prepareBody(row: AnyRoute, request: FastifyRequest): void {
  if (request.state.mayBeUnclean) checkBody(request.body)
  if (row.body && request.body === undefined) request.body = {}
}
