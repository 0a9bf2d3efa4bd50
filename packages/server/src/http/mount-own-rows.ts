import type { ModuleName, Rows } from '@berth/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Awaitable } from '../platform/awaitable.ts'
import { mountRows, optionsOf } from './mount.ts'
import type { MountDeps } from './mount-deps.ts'
import { type AnyHandler, notBuiltYet } from './run.ts'
import type { WorkerProxy } from './worker-proxy.ts'
import { asksCloud, showsEdge } from './worker-rows.ts'

/** Mounts the rows that an API process answers itself. While an organisation is linked to a cloud, the worker answers some. */
export function mountOwnRows(
  app: FastifyInstance,
  module: ModuleName,
  rows: Rows,
  handlers: Record<string, unknown>,
  { refreshCopies, ...deps }: MountDeps & { worker: WorkerProxy },
): void {
  const { worker, hasCloudLinks, stopping } = deps
  const withCopies = showsEdge(module) ? { ...deps, refreshCopies } : deps
  for (const [name, row] of Object.entries(rows)) {
    if (!hasCloudLinks || !asksCloud(module, name, row)) {
      mountRows(app, { [name]: row }, handlers, withCopies)
      continue
    }
    const handle = (handlers[name] as AnyHandler | undefined) ?? notBuiltYet
    for (const at of [row.at, ...(row.alsoAt ?? [])]) {
      const options = optionsOf(at, row, handle, withCopies)
      const { onRequest } = worker.route(at, row, stopping)
      app.route({ ...options, onRequest: forwardIf(hasCloudLinks, onRequest as Hook, options.onRequest as Hook) })
    }
  }
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: () => void) => Promise<unknown> | undefined

const forwardIf =
  (isForwarded: () => Awaitable<boolean>, forward: Hook, otherwise: Hook): Hook =>
  (request, reply, done) => {
    const answer = isForwarded()
    if (answer === false) return otherwise(request, reply, done)
    // Fastify goes on when the promise resolves.
    const goOn = () => undefined
    return answer === true
      ? forward(request, reply, goOn)
      : answer.then((isLinked) => (isLinked ? forward : otherwise)(request, reply, goOn))
  }
