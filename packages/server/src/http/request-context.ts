import type { AnyRoute } from '@berth/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { bareAddress, plainAddress } from '../platform/address-set.ts'
import type { Caller, RequestContext } from './handler.ts'
import { isFromElsewhere } from './origin.ts'

/**
 * What a handler knows besides its input. A class, because `caller` is a getter: in an object literal each request's getter
 * would give its object a hidden class of its own, which V8 keeps, with all the request holds, until it collects everything.
 */
export class ContextOfRequest implements RequestContext {
  readonly level: RequestContext['level']
  readonly requestId: string
  readonly ip: string
  readonly secure: boolean
  readonly isFromElsewhere: boolean
  readonly headers: RequestContext['headers']
  readonly setStatus: RequestContext['setStatus']
  readonly setHeader: RequestContext['setHeader']
  readonly audit: RequestContext['audit']
  readonly redirect: RequestContext['redirect']
  readonly page: RequestContext['page']
  readonly #row: AnyRoute
  readonly #caller: Caller | null

  constructor(row: AnyRoute, request: FastifyRequest, reply: FastifyReply) {
    const { state } = request
    this.#row = row
    this.#caller = state.caller
    this.level = state.level ?? 'read'
    this.requestId = request.id
    this.ip = plainAddress(bareAddress(request.ip))
    this.secure = request.protocol === 'https'
    this.isFromElsewhere = isFromElsewhere(request)
    this.headers = request.headers
    this.setStatus = (status) => void reply.status(status)
    this.setHeader = (name, value) => void reply.header(name, value)
    this.audit = (entry) => void Object.assign(state.audit, entry)
    this.redirect = (url) => void reply.redirect(url, 303)
    this.page = (html, status = 200) =>
      void reply
        .status(status)
        .header('content-security-policy', pagePolicy)
        .header('cache-control', 'no-store')
        .header('referrer-policy', 'no-referrer')
        .type('text/html; charset=utf-8')
        .send(html)
    if (row.on) Object.assign(this, { [row.on]: state.object })
  }

  get isSignedIn(): boolean {
    return this.#caller !== null
  }

  get caller(): Caller {
    if (!this.#caller) throw new Error(`${this.#row.at} is public: nobody has signed in`)
    return this.#caller
  }
}

const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
