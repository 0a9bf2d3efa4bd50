import { createEventParser } from '@berth/contract/event-stream'

interface Message {
  id?: string | number
  method?: string
  params?: { name?: unknown; uri?: unknown; requestId?: unknown; _meta?: Record<string, unknown> }
  result?: { protocolVersion?: unknown }
}

export interface ForwarderOptions {
  /** The address of `/api/mcp`. */
  url: URL
  headers: Record<string, string>
  /** Writes one message to the client. */
  write(line: string): void
}

const versionKey = 'io.modelcontextprotocol/protocolVersion'
const internalError = -32603

/** Forwards the messages of an MCP client on standard input to the instance, each as a request, and writes the responses. */
export class McpForwarder {
  readonly #options: ForwarderOptions
  readonly #running = new Map<string | number, AbortController>()
  readonly #pending = new Set<Promise<void>>()
  /** Headers of a client that sent `initialize`. */
  #session: Record<string, string> = {}

  constructor(options: ForwarderOptions) {
    this.#options = options
  }

  /** Takes one line. Resolves at once, except for `initialize`: later messages need its session. */
  async take(line: string): Promise<void> {
    const message = parse(line)
    if (!message) return this.#fail(undefined, 'The line is not a JSON-RPC message', -32700)
    if (message.method === 'notifications/cancelled') return this.#cancel(message.params?.requestId)
    const sent = this.#send(message, line)
    this.#pending.add(sent)
    const done = sent.finally(() => this.#pending.delete(sent))
    if (message.method === 'initialize') await done
  }

  /** Resolves when every message has its response. */
  async end(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }

  #cancel(id: unknown): void {
    this.#running.get(id as string)?.abort()
  }

  async #send(message: Message, line: string): Promise<void> {
    const { id, method } = message
    const stop = new AbortController()
    if (id !== undefined && method !== undefined) this.#running.set(id, stop)
    try {
      const response = await fetch(this.#options.url, {
        method: 'POST',
        headers: { ...this.#options.headers, ...this.#headersOf(message) },
        body: line,
        signal: stop.signal,
      })
      await this.#pass(message, response)
    } catch (error) {
      // A cancelled request gets no response.
      if (!stop.signal.aborted) this.#fail(method === undefined ? undefined : id, reasonOf(error))
    } finally {
      if (id !== undefined) this.#running.delete(id)
    }
  }

  #headersOf({ method, params }: Message): Record<string, string> {
    const version = params?._meta?.[versionKey]
    const common = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    if (typeof version !== 'string') return { ...common, ...this.#session }
    const name = params?.name ?? params?.uri
    return {
      ...common,
      'mcp-protocol-version': version,
      'mcp-method': method ?? '',
      ...(typeof name === 'string' ? { 'mcp-name': headerValue(name) } : {}),
    }
  }

  async #pass(request: Message, response: Response): Promise<void> {
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      const [decoder, read] = [new TextDecoder(), createEventParser()]
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
        for (const { event, data } of read(decoder.decode(chunk, { stream: true })))
          if (event === 'message') this.#options.write(data)
      return
    }
    const text = await response.text()
    if (request.id === undefined || request.method === undefined) return
    const message = parse(text) as (Message & { jsonrpc?: string; error?: unknown }) | undefined
    if (message?.jsonrpc !== '2.0') {
      const reason = typeof message?.error === 'string' ? message.error : `The server answered ${response.status}`
      return this.#fail(request.id, reason)
    }
    if (request.method === 'initialize') this.#beginSession(message, response.headers)
    this.#options.write(JSON.stringify(message))
  }

  #beginSession({ result }: Message, headers: Headers): void {
    const id = headers.get('mcp-session-id')
    const version = result?.protocolVersion
    this.#session = {
      ...(id ? { 'mcp-session-id': id } : {}),
      ...(typeof version === 'string' ? { 'mcp-protocol-version': version } : {}),
    }
  }

  #fail(id: Message['id'], message: string, code = internalError): void {
    if (id === undefined && code === internalError) return
    this.#options.write(JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error: { code, message } }))
  }
}

function parse(text: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === 'object' && message !== null && !Array.isArray(message) ? message : undefined
  } catch {
    return undefined
  }
}

/** Text that a header cannot have is sent in base64, in the form that the protocol defines. */
const headerValue = (text: string): string =>
  /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text)
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`

/** fetch hides the reason of a failed connection in its cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return `The instance cannot be reached: ${cause instanceof Error && cause.message ? cause.message : message}`
}
