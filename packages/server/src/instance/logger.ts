import { type DestinationStream, destination, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino'
import type { Scrubber } from '../platform/secrets/scrubber.ts'
import type { Config } from './config/config.ts'

export type { Logger } from 'pino'

export interface LoggerOptions {
  level: Config['logLevel']
  scrubber: Scrubber
  /** Default: text if the output is a terminal, else JSON. */
  format?: Config['logFormat']
  /** Default: standard output. */
  output?: DestinationStream
}

/** Structured logs. The scrubber runs last on every line, so that no field, message or stack contains a secret. */
export async function createLogger({ level, scrubber, format = 'auto', output }: LoggerOptions): Promise<Logger> {
  const sink = output ?? standardOutput()
  const isTerminal = output === undefined && process.stdout.isTTY === true
  const isText = format === 'auto' ? isTerminal : format === 'text'
  const print = isText ? await loadPrettyPrinter(isTerminal) : (line: string) => line
  const scrubbed: DestinationStream = { write: (line) => sink.write(print(scrubber.scrubJson(line))) }
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: stdSerializers.err, error: stdSerializers.err, cause: stdSerializers.err },
      redact: { paths: secretHeaders, censor: '[secret]' },
    },
    scrubbed,
  )
}

const secretHeaders = ['.authorization', '.cookie', '["set-cookie"]'].flatMap((header) =>
  ['req.headers', 'res.headers', 'headers'].map((path) => path + header),
)

/** Writes synchronously, so that the last line before a crash is not lost; a closed pipe (`| head`) does not end the server. */
function standardOutput(): DestinationStream {
  const stream = destination({ fd: 1, sync: true })
  stream.on('error', () => undefined)
  return stream
}

/** Loaded only if it is used, and run in this thread: a worker thread would lose the last lines before a crash. */
async function loadPrettyPrinter(isTerminal: boolean): Promise<(line: string) => string> {
  const { default: prettyPrint } = await import('pino-pretty')
  // A stack trace keeps its lines; the fields of an event follow it on its line.
  return prettyPrint.prettyFactory({ colorize: isTerminal, translateTime: 'SYS:HH:MM:ss.l', singleLine: true })
}
