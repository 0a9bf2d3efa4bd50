import type { IncomingMessage } from 'node:http'
import { addAbortSignal } from 'node:stream'
import { parseInSlices } from '../../../platform/sliced-json.ts'
import type { Engine } from '../docker/engine.ts'

type Callback = (error: Error | null, answer: unknown) => void
interface Context {
  isStream?: boolean
  hijack?: boolean
  openStdin?: boolean
}
interface Modem {
  buildRequest(options: { path: string; signal?: AbortSignal }, context: Context, data: unknown, done: Callback): void
}

/** Parses responses in slices. The Docker client would parse a whole response, as large as a server chooses, on the main thread. */
export function readInSlices(engine: Engine): Engine {
  const modem = engine.modem as unknown as Modem
  const { buildRequest } = modem
  modem.buildRequest = (options, context, data, done) => {
    if (context.isStream || context.hijack || context.openStdin) return buildRequest.call(modem, options, context, data, done)
    buildRequest.call(modem, options, { ...context, isStream: true }, data, (error, response) => {
      if (error) return done(error, null)
      jsonOf(response as IncomingMessage, options.signal).then(
        (value) => done(null, value),
        (failure: Error) => done(failure, null),
      )
    })
  }
  return engine
}

async function jsonOf(response: IncomingMessage, signal: AbortSignal | undefined): Promise<unknown> {
  if (signal) addAbortSignal(signal, response)
  const chunks: Uint8Array[] = []
  for await (const chunk of response) chunks.push(chunk as Uint8Array)
  const bytes = Buffer.concat(chunks)
  // A response that is not JSON is returned as bytes, as the Docker client does.
  return bytes.length === 0 ? bytes : parseInSlices(bytes.toString('utf8')).catch(() => bytes)
}
