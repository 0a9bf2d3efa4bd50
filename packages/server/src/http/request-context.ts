import type { AnyRoute } from '@berth/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { bareAddress, plainAddress } from '../platform/address-set.ts'
import { addressOf } from './client-address.ts'
import type { Caller, RequestContext } from './handler.ts'
import { isCrossOrigin } from './origin.ts'

/**
 * The context of a handler. A class, because few handlers use most of it and its getters compute on demand. Getters in an object
 * literal would give each request's object its own hidden class, which V8 keeps, with everything the request references, until a
 * full garbage collection.
 */
export class ContextOfRequest implements RequestContext {
  readonly #row: AnyRoute
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  readonly #caller: Caller | null
  readonly level: RequestContext['level']

  constructor(row: AnyRoute, request: FastifyRequest, reply: FastifyReply) {
    this.#row = row
    this.#request = request
    this.#reply = reply
    this.#caller = request.state.caller
    this.level = request.state.level ?? 'read'
    if (row.on) (this as Record<string, unknown>)[row.on] = request.state.object
  }

  get requestId(): string {
    return this.#request.id
  }

  get ip(): string {
    return plainAddress(bareAddress(addressOf(this.#request)))
  }

  get secure(): boolean {
    return this.#request.clientProtocol === 'https'
  }

  get isCrossOrigin(): boolean {
    return isCrossOrigin(this.#request)
  }

  get headers(): RequestContext['headers'] {
    return this.#request.headers
  }

  // Returned as closures, because handlers destructure them from the context.

  get setStatus(): RequestContext['setStatus'] {
    return (status) => void this.#reply.status(status)
  }

  get setHeader(): RequestContext['setHeader'] {
    return (name, value) => void this.#reply.header(name, value)
  }

  get audit(): RequestContext['audit'] {
    return (entry) => void Object.assign(this.#request.state.record?.details ?? {}, entry)
  }

  get redirect(): RequestContext['redirect'] {
    return (url) => void this.#reply.redirect(url, 303)
  }

  get page(): RequestContext['page'] {
    return (html, status = 200) =>
      void this.#reply
        .status(status)
        .header('content-security-policy', pagePolicy)
        .header('cache-control', 'no-store')
        .header('referrer-policy', 'no-referrer')
        .type('text/html; charset=utf-8')
        .send(html)
  }

  get isSignedIn(): boolean {
    return this.#caller !== null
  }

  get caller(): Caller {
    if (!this.#caller) throw new Error(`${this.#row.at} is public: the request has no caller`)
    return this.#caller
  }
}

const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
