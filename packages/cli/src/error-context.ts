import { type AnyRoute, errors } from '@berth/contract'
import { ApiError, type Client } from '@berth/contract/client'
import { isUnreachable, Unreachable } from './exit-codes.ts'

interface Context {
  url: string
  /** The address is from the folder's link. */
  isFromLink: boolean
  /** Where the token comes from: `the variable BERTH_TOKEN`, or a file. */
  tokenSource: string
  /** The remedy for a refused token. */
  tokenRemedy: string
}

/** A client whose errors also name the missing object, the source of a refused token, and the unreachable instance. */
export function withErrorContext(client: Client, context: Context): Client {
  const rethrow = (error: unknown, row: AnyRoute, input: unknown): never => {
    throw addContext(nameObject(error, row, (input as { params?: Record<string, string> } | undefined)?.params), context)
  }
  return {
    call: (row, ...input) => client.call(row, ...input).catch((error) => rethrow(error, row, input[0])),
    bytes: (row, ...input) => client.bytes(row, ...input).catch((error) => rethrow(error, row, input[0])),
    async *stream(row, ...input) {
      try {
        yield* client.stream(row, ...input)
      } catch (error) {
        rethrow(error, row, input[0])
      }
    },
  }
}

/** Replaces the plain "Not found" by the kind and the id of the object. A message of the server's own is kept. */
function nameObject(error: unknown, { on, path }: AnyRoute, params: Record<string, string> = {}): unknown {
  if (!(error instanceof ApiError) || error.message !== errors.not_found[1]) return error
  const ids = Object.values(params)
  const kind = ids.length === 1 && on ? kindText(on) : null
  if (params.hostname) error.message = `The project has no domain ${params.hostname}. List its domains with berth domains.`
  else error.message = kind ? `${kind} ${ids[0]} does not exist.` : `Not found: ${ids.length > 0 ? ids.join(', ') : path}`
  if (kind === 'Project') error.message += ' List projects with berth list.'
  return error
}

const otherKinds: Record<string, string> = { savedProject: 'Project' }

/** `backupRun` becomes `Backup run`. */
function kindText(kind: string): string {
  const message = kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return otherKinds[kind] ?? message[0]!.toUpperCase() + message.slice(1)
}

/** A 401 of the API means the token: the message says where it comes from and how to replace it. */
export function addContext(error: unknown, { url, isFromLink, tokenSource, tokenRemedy }: Context): unknown {
  if (isUnreachable(error)) return new Unreachable(url, isFromLink)
  // An error with a field is about a password or code in the request.
  if (error instanceof ApiError && error.code === 'unauthorized' && !error.field)
    error.message = `${url} refused the token from ${tokenSource}. ${tokenRemedy}`
  return error
}
