import { type Readable, Transform } from 'node:stream'
import { readS3Page, type S3Page } from './s3-listing.ts'
import { StoreFailure } from './store-failure.ts'

/** Limit of every response except listings and objects: some lines, which the library reads as a whole. */
const maxBytes = 32 * 1024

interface MiddlewareResult {
  response: { statusCode: number; body?: Readable }
}
type Next = (args: unknown) => Promise<MiddlewareResult>
type Middleware = (next: Next, context: { commandName?: string }) => (args: unknown) => Promise<MiddlewareResult>
interface Stack {
  middlewareStack: { add: (middleware: never, options: never) => void }
}

/** Innermost middleware: the library's own parser runs after it. */
const innermost = { step: 'deserialize', priority: 'low' }

const streamedCommands = new Set(['GetObjectCommand', 'ListObjectsV2Command', 'ListMultipartUploadsCommand'])

/** Aborts a response that is longer than S3's own errors and confirmations. */
export function limitResponses<Client extends Stack>(client: Client): Client {
  const middleware: Middleware = (next, { commandName = '' }) => {
    return async (args) => {
      const result = await next(args)
      const { response } = result
      const isStreamed = response.statusCode < 300 && streamedCommands.has(commandName)
      if (response.body && !isStreamed) response.body = limitBody(response.body)
      return result
    }
  }
  client.middlewareStack.add(middleware as never, { ...innermost, name: 'limitResponses' } as never)
  return client
}

function limitBody(body: Readable): Readable {
  let bytes = 0
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes <= maxBytes) return done(null, chunk)
      done(new StoreFailure('other', `S3 answered with more than ${maxBytes / 1024} KB where a short response was expected`))
    },
  })
  bounded.once('close', () => body.destroy())
  body.once('error', (error) => bounded.destroy(error))
  return body.pipe(bounded)
}

/** Takes the entries out of the response before the library parses it. */
export function capturePage<Command extends Stack>(command: Command, element: 'Contents' | 'Upload', wanted: readonly string[]) {
  const read: { page: S3Page } = { page: { entries: [], page: new Map() } }
  const middleware: Middleware = (next) => async (args) => {
    const result = await next(args)
    const { response } = result
    if (response.statusCode >= 300 || !response.body) return result
    const { body } = response
    try {
      read.page = await readS3Page(body, element, wanted)
    } finally {
      body.destroy()
    }
    delete response.body
    return result
  }
  command.middlewareStack.add(middleware as never, { ...innermost, name: 'capturePage' } as never)
  return read
}
