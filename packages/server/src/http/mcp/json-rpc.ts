/** Messages of JSON-RPC 2.0, as MCP uses them: one message per HTTP request, never a batch. */

export type RequestId = string | number

export interface RpcRequest {
  id: RequestId
  method: string
  params: Record<string, unknown>
}

export type RpcMessage =
  | ({ kind: 'request' } & RpcRequest)
  | { kind: 'notification'; method: string }
  | { kind: 'response'; id: RequestId; result: unknown }

export const rpcErrors = {
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** Revision 2025-11-25 and earlier; later revisions use `invalidParams`. */
  resourceNotFound: -32002,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const

export type RpcErrorCode = (typeof rpcErrors)[keyof typeof rpcErrors]

/** An error of the protocol, with the HTTP status of its response. An error of a route is a tool result instead. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: RpcErrorCode
  readonly status: number
  readonly data: unknown

  constructor(code: RpcErrorCode, message: string, { status = 400, data }: { status?: number; data?: unknown } = {}) {
    super(message)
    this.code = code
    this.status = status
    this.data = data
  }
}

/** Parses the body of a request; throws for a batch and for everything that is not one message. */
export function parseMessage(body: unknown): RpcMessage {
  if (Array.isArray(body))
    throw new RpcError(rpcErrors.invalidRequest, 'Batches are not supported. Send one message per request.')
  if (!isObject(body) || body.jsonrpc !== '2.0') throw new RpcError(rpcErrors.invalidRequest, 'Not a JSON-RPC 2.0 message')
  const { id, method, params = {} } = body
  if (id !== undefined && !isRequestId(id)) throw new RpcError(rpcErrors.invalidRequest, 'id: must be a string or an integer')
  if (typeof method !== 'string') {
    if (id === undefined || !('result' in body || 'error' in body))
      throw new RpcError(rpcErrors.invalidRequest, 'method: must be a string')
    return { kind: 'response', id, result: body.result }
  }
  if (!isObject(params)) throw new RpcError(rpcErrors.invalidParams, 'params: must be an object')
  return id === undefined ? { kind: 'notification', method } : { kind: 'request', id, method, params }
}

const maxIdCharacters = 200

const isRequestId = (id: unknown): id is RequestId =>
  typeof id === 'string' ? id.length <= maxIdCharacters : Number.isSafeInteger(id)

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const resultMessage = (id: RequestId, result: object) => ({ jsonrpc: '2.0', id, result })

export const errorMessage = (id: RequestId | undefined, { code, message, data }: RpcError) => ({
  jsonrpc: '2.0',
  ...(id === undefined ? {} : { id }),
  error: { code, message, ...(data === undefined ? {} : { data }) },
})
