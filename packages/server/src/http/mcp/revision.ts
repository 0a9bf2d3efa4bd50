import type { IncomingHttpHeaders } from 'node:http'
import { isObject, RpcError, type RpcRequest, rpcErrors } from './json-rpc.ts'

/** The stateless revision: every request has its version and the client's capabilities in `_meta`. */
export const statelessRevision = '2026-07-28'
/** Revisions whose clients send `initialize`, newest first. */
export const handshakeRevisions = ['2025-11-25', '2025-06-18'] as const
export const supportedRevisions = [statelessRevision, ...handshakeRevisions]

const versionKey = 'io.modelcontextprotocol/protocolVersion'
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities'
export const serverInfoKey = 'io.modelcontextprotocol/serverInfo'

/** Protocol rules for the response to one request. */
export interface Dialect {
  isStateless: boolean
  /** The client shows questions of the server to its user. */
  canElicit: boolean
}

/** Reads the revision of a request, and checks the headers that must repeat its body. */
export function dialectOf(request: RpcRequest, headers: IncomingHttpHeaders): Dialect | 'handshake' {
  const meta = isObject(request.params._meta) ? request.params._meta : {}
  const version = headers['mcp-protocol-version']
  const declared = meta[versionKey]
  if (declared === undefined && version !== statelessRevision) {
    if (version !== undefined && request.method !== 'initialize' && !isHandshakeRevision(version)) refuseVersion(version)
    return 'handshake'
  }
  if (version === undefined) throw mismatch('MCP-Protocol-Version: the header is missing')
  if (declared !== undefined && version !== declared) throw mismatch(`MCP-Protocol-Version: differs from _meta ${versionKey}`)
  if (version !== statelessRevision) refuseVersion(version)
  if (declared === undefined) throw new RpcError(rpcErrors.invalidParams, `params._meta: ${versionKey} is missing`)
  if (!isObject(meta[capabilitiesKey])) throw new RpcError(rpcErrors.invalidParams, `params._meta: ${capabilitiesKey} is missing`)
  checkHeaders(request, headers)
  return { isStateless: true, canElicit: canElicit(meta[capabilitiesKey]) }
}

export const isHandshakeRevision = (version: unknown): boolean => handshakeRevisions.some((known) => known === version)

function refuseVersion(requested: unknown): never {
  throw new RpcError(rpcErrors.unsupportedVersion, 'Unsupported protocol version', {
    data: { supported: supportedRevisions, requested },
  })
}

const mismatch = (message: string) => new RpcError(rpcErrors.headerMismatch, message)

/** A client that declares elicitation without modes supports forms. */
export function canElicit(capabilities: unknown): boolean {
  const elicitation = isObject(capabilities) ? capabilities.elicitation : undefined
  return isObject(elicitation) && ('form' in elicitation || !('url' in elicitation))
}

const namedMethods: Record<string, 'name' | 'uri'> = { 'tools/call': 'name', 'resources/read': 'uri', 'prompts/get': 'name' }

/** A proxy may route by these headers, so a body that differs from them is refused. */
function checkHeaders({ method, params }: RpcRequest, headers: IncomingHttpHeaders): void {
  if (headers['mcp-method'] !== method) throw mismatch('Mcp-Method: differs from the method in the body')
  const field = namedMethods[method]
  if (field && decoded(headers['mcp-name']) !== params[field]) throw mismatch(`Mcp-Name: differs from params.${field}`)
}

/** A value with characters that a header cannot have is sent as `=?base64?…?=`. */
function decoded(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined
  const encoded = /^=\?base64\?([\w+/=-]*)\?=$/.exec(header)?.[1]
  return encoded === undefined ? header : Buffer.from(encoded, 'base64').toString('utf8')
}
