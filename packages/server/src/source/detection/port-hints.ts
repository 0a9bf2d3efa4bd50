import type { Evidence } from './detection.ts'
import type { Folder } from './folder.ts'
import { clip } from './signs.ts'

/** The port that an app listens on, according to its files. */
export interface PortHint {
  port: number
  evidence: Evidence
  /** The app ignores PORT. */
  isFixed: boolean
}

const portOption = /(?:^|\s)(?:-p|--port)(?:[ =])(\d{2,5})(?=\s|$)/
const portAssignment = /(?:^|\s)PORT=(\d{2,5})(?=\s)/
/** `gunicorn --bind 0.0.0.0:4000`, `-b :4000`. */
const bindOption = /(?:^|\s)(?:-b|--bind)(?:[ =])[\w.[\]]{0,60}:(\d{2,5})(?=\s|$)/
const pythonFileServer = /(?:^|\s)-m http\.server(?: -\S{1,40})* (\d{2,5})(?=\s|$)/

/** The port in a command: `next start -p 4000`. */
export function portInCommand(command: string, file: string): PortHint | null {
  const match = [portOption, portAssignment, bindOption, pythonFileServer].map((form) => form.exec(command)).find(Boolean)
  const port = validPort(match?.[1])
  return port === null ? null : { port, evidence: { file, says: `the port is in ${clip(command)}` }, isFixed: true }
}

/** `Number(process.env.PORT) || 4000`, `Deno.env.get("PORT") ?? "4000"`. */
const portOrDefault = /\bPORT\b[^\n;]{0,24}?(?:\|\||\?\?|\bor\b) {0,2}["'(]{0,2}(\d{2,5})\b/
/** `os.environ.get("PORT", 4000)`; not the radix of `parseInt(process.env.PORT, 10)`. */
const secondArgument = /\bPORT["'] {0,2}, {0,2}["']?(\d{2,5})\b/
const environment = /\b(?:env|environ|getenv|Getenv|LookupEnv|get|fetch|ENV)\W{1,4}PORT\b/
/** `.listen(4000)`, `.listen({ port: 4000 })`, `const PORT = 4000`. */
const fixed = /(?:\.listen\(\s{0,4}(?:\{\s{0,4}port ?: ?)?|\b(?:const|let|var) port ?= ?)(\d{2,5})\b/i
/** `http.ListenAndServe(":4000", nil)`, `app.Listen(":4000")`, `Addr: "0.0.0.0:4000"`. */
const fixedAddress = /(?:\b(?:Listen(?:AndServe)?|Run|Start)\(\s{0,4}|\bAddr: {0,9})["'`][\w.]{0,60}:(\d{2,5})["'`]/

/** The port in the code of the program's entry file. */
export async function portInCode(folder: Folder, path: string): Promise<PortHint | null> {
  const text = await folder.text(path)
  if (text === null) return null
  const file = folder.full(path)
  const readsPort = environment.test(text)
  const defaultPort = readsPort ? validPort((portOrDefault.exec(text) ?? secondArgument.exec(text))?.[1]) : null
  if (defaultPort !== null)
    return { port: defaultPort, evidence: { file, says: `listens on PORT, else on ${defaultPort}` }, isFixed: false }
  const number = readsPort ? null : validPort((fixed.exec(text) ?? fixedAddress.exec(text))?.[1])
  return number === null ? null : { port: number, evidence: { file, says: `listens on ${number}` }, isFixed: true }
}

export const fixedPortWarnings = (hint: PortHint | null): string[] =>
  hint?.isFixed ? [`the port ${hint.port} is fixed in ${hint.evidence.file}; let the program listen on the variable PORT`] : []

function validPort(text: string | undefined): number | null {
  const port = Number(text)
  return text !== undefined && port >= 1 && port <= 65535 ? port : null
}
