import { constants } from 'node:fs'
import * as files from 'node:fs/promises'
import { headersFor, type Redirection, redirectionFor, stepsOf } from '../../platform/site-rules/match-rules.ts'
import { withoutNamed } from '../message/header-name.ts'
import { headerValue } from '../message/request-head.ts'
import type { StaticTarget } from '../protocol/edge-table.ts'
import { acceptedEncodings } from '../static/accept-encoding.ts'
import { cacheControl } from '../static/caching.ts'
import { isCompressible } from '../static/content-types.ts'
import { byteRange, isUnchanged, mayResume } from '../static/preconditions.ts'
import { candidates, isPagePath, sitePath } from '../static/site-path.ts'
import type { SiteFile } from '../static/static-sites.ts'
import { notices } from './pages.ts'
import type { RequestExchange, ResponseHandler } from './response-handler.ts'

const pieceBytes = 65_536

interface Found {
  path: string
  file: SiteFile
  status: 200 | 404
}

/** Answers a request with a file of a static deployment. */
export class FileAnswer implements ResponseHandler {
  readonly #exchange: RequestExchange
  readonly #site: StaticTarget
  /** Headers that the site's rules set for this path. */
  #ruleHeaders: [name: string, value: string][] = []
  #isDisconnected = false
  #wakeUp: (() => void) | undefined

  constructor(exchange: RequestExchange, site: StaticTarget) {
    this.#exchange = exchange
    this.#site = site
  }

  start(): void {
    const { method } = this.#exchange.head
    if (method !== 'GET' && method !== 'HEAD') {
      this.#exchange.refuse(notices.methodNotAllowed)
      return
    }
    this.#answer().catch(() => {
      if (this.#exchange.status === 0) this.#exchange.refuse(notices.unreadable, true)
      else this.#exchange.abort(true)
    })
  }

  /** A GET request's body is ignored. */
  bodyData(): void {}
  bodyEnd(): void {}
  clientEnded(): void {}

  clientDrained(): void {
    this.#wakeUp?.()
  }

  clientDisconnected(): void {
    this.#isDisconnected = true
    this.#wakeUp?.()
  }

  timedOut(): void {
    this.#exchange.abort(false)
    this.clientDisconnected()
  }

  async #answer(): Promise<void> {
    const found = await this.#resolve()
    if (this.#isDisconnected) return
    if (!found) this.#exchange.refuse(notices.notFound)
    else if ('to' in found)
      this.#exchange.answer(found.rule.status, `location: ${this.#location(found)}\r\n${linesOf(this.#ruleHeaders)}`, '')
    else await this.#send(found, await this.#encoded(found))
  }

  /** Applies the site's rules first, if there are any. The result is a file, another page that a rule shows, or a redirect. */
  async #resolve(): Promise<Found | Redirection | undefined> {
    const rules = await this.#exchange.serving.sites.rules(this.#site)
    const path = sitePath(this.#exchange.head.target)
    if (!rules || path === undefined) return this.#find(path)
    const steps = stepsOf(path)
    this.#ruleHeaders = headersFor(rules, steps)
    const redirection = redirectionFor(rules, steps)
    const file = redirection?.rule.force ? undefined : await this.#fileAt(path)
    if (file || !redirection) return file ?? this.#find(path)
    if (redirection.rule.status >= 300 && redirection.rule.status < 400) return redirection
    const page = sitePath(redirection.to)
    const pageFile = page === undefined ? undefined : await this.#fileAt(page)
    return pageFile ? { ...pageFile, status: redirection.rule.status === 404 ? 404 : 200 } : this.#find(path)
  }

  /** Appends the request's query, unless the rule's target has a query or a fragment itself. */
  #location({ to }: Redirection): string {
    const { target } = this.#exchange.head
    const query = target.indexOf('?')
    return query < 0 || to.includes('?') || to.includes('#') ? to : to + target.slice(query)
  }

  async #fileAt(path: string): Promise<Found | undefined> {
    for (const candidate of candidates(path)) {
      const file = await this.#exchange.serving.sites.find(this.#site, candidate)
      if (file) return { path: candidate, file, status: 200 }
    }
    return undefined
  }

  async #find(path: string | undefined): Promise<Found | undefined> {
    const { head, serving } = this.#exchange
    const exactFile = path === undefined ? undefined : await this.#fileAt(path)
    if (exactFile) return exactFile
    if (this.#site.spa && path !== undefined && isPagePath(path, headerValue(head, 'accept') ?? '')) {
      const file = await serving.sites.find(this.#site, 'index.html')
      if (file) return { path: 'index.html', file, status: 200 }
    }
    const page = sitePath(`/${this.#site.notFoundPage ?? '404.html'}`)
    const file = page === undefined ? undefined : await serving.sites.find(this.#site, page)
    return file && { path: page!, file, status: 404 }
  }

  /** Chooses the encoding. A range refers to the uncompressed bytes, so a range request gets the uncompressed file. */
  async #encoded(found: Found): Promise<{ file: SiteFile; encoding: string }> {
    const { head, serving } = this.#exchange
    const encodings = headerValue(head, 'range') ? [] : acceptedEncodings(headerValue(head, 'accept-encoding'))
    for (const encoding of encodings) {
      const file = await serving.sites.encoded(this.#site, found.path, found.file, encoding)
      if (file) return { file, encoding }
    }
    return { file: found.file, encoding: '' }
  }

  async #send({ path, status }: Found, { file, encoding }: { file: SiteFile; encoding: string }): Promise<void> {
    const exchange = this.#exchange
    if (this.#isDisconnected) return
    const { head } = exchange
    const ruleLines = linesOf(this.#ruleHeaders)
    const common =
      `etag: ${file.etag}\r\nlast-modified: ${new Date(file.modifiedMs).toUTCString()}\r\n` +
      `cache-control: ${status === 404 ? 'no-cache' : cacheControl(path)}\r\n${isCompressible(file.type) ? 'vary: accept-encoding\r\n' : ''}`
    if (status === 200 && isUnchanged(file, headerValue(head, 'if-none-match'), headerValue(head, 'if-modified-since'))) {
      exchange.answer(304, this.#withoutOverridden(common) + ruleLines, '')
      return
    }
    const plain = `${common}content-type: ${file.type}\r\nx-content-type-options: nosniff\r\naccept-ranges: bytes\r\n`
    const headerLines = this.#withoutOverridden(plain) + ruleLines + (encoding ? `content-encoding: ${encoding}\r\n` : '')
    const isRangeAllowed = status === 200 && head.method === 'GET' && mayResume(file, headerValue(head, 'if-range'))
    const range = isRangeAllowed ? byteRange(headerValue(head, 'range'), file.size) : 'whole'
    if (range === 'unsatisfiable') exchange.answer(416, `content-range: bytes */${file.size}\r\n`, '')
    else if (range === 'whole') await this.#sendBytes(status, headerLines, file, 0, file.size)
    else {
      const span = `content-range: bytes ${range.first}-${range.last}/${file.size}\r\n`
      await this.#sendBytes(206, headerLines + span, file, range.first, range.last + 1)
    }
  }

  /** Headers of the site's rules replace the edge's own headers of the same name. */
  #withoutOverridden(lines: string): string {
    return withoutNamed(
      lines,
      this.#ruleHeaders.map(([name]) => name.toLowerCase()),
    )
  }

  async #sendBytes(status: number, headers: string, file: SiteFile, from: number, to: number): Promise<void> {
    const exchange = this.#exchange
    const { contents } = file
    if (contents && to - from <= pieceBytes) {
      exchange.answer(status, headers, contents.subarray(from, to))
      return
    }
    if (exchange.head.method === 'HEAD') {
      exchange.beginAnswer(status, headers, to - from)
      exchange.finish()
      return
    }
    if (contents) {
      exchange.beginAnswer(status, headers, to - from)
      await this.#stream((at, length) => contents.subarray(at, at + length), from, to)
      return
    }
    const handle = await files.open(file.path, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      if (this.#isDisconnected) return
      exchange.beginAnswer(status, headers, to - from)
      await this.#stream((at, length) => readPiece(handle, at, length), from, to)
    } finally {
      await handle.close()
    }
  }

  /** Sends in pieces, the next one after the client has accepted the previous: TLS copies everything it is given. */
  async #stream(read: (at: number, length: number) => Buffer | Promise<Buffer>, from: number, to: number): Promise<void> {
    const exchange = this.#exchange
    const { serving } = exchange
    let at = from
    while (at < to && !this.#isDisconnected) {
      const piece = await read(at, Math.min(pieceBytes, to - at))
      if (this.#isDisconnected) return
      at += piece.length
      exchange.bytesOut += piece.length
      exchange.deadline = serving.now + serving.routing.limits.responseIdleMs
      if (!exchange.client.socket.write(piece)) await this.#waitForDrain()
    }
    if (!this.#isDisconnected) exchange.finish()
  }

  #waitForDrain(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeUp = resolve
    })
  }
}

const linesOf = (pairs: readonly (readonly [string, string])[]) => pairs.map(([name, value]) => `${name}: ${value}\r\n`).join('')

/** Reads into a new buffer: the socket may still hold the previous one. */
async function readPiece(handle: files.FileHandle, at: number, length: number): Promise<Buffer> {
  const piece = Buffer.allocUnsafe(length)
  const { bytesRead } = await handle.read(piece, 0, length, at)
  if (bytesRead === 0) throw new Error('the file was truncated while it was sent')
  return piece.subarray(0, bytesRead)
}
