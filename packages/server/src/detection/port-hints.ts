import type { Evidence } from './detection.ts'
import type { Folder } from './folder.ts'
import { clip } from './signs.ts'

/** Where an app says itself which port it listens on. */
export interface PortHint {
  port: number
  evidence: Evidence
  /** The port stays the same whatever PORT says. */
  isFixed: boolean
}

const portOption = /(?:^|\s)(?:-p|--port)(?:[ =])(\d{2,5})(?=\s|$)/
const portAssignment = /(?:^|\s)PORT=(\d{2,5})(?=\s)/

/** In the words of a command: `next start -p 4000`. */
export function portInCommand(command: string, file: string): PortHint | null {
  const port = validPort((portOption.exec(command) ?? portAssignment.exec(command))?.[1])
  return port === null ? null : { port, evidence: { file, says: `the port is in ${clip(command)}` }, isFixed: true }
}

/** `process.env.PORT || 4000`, `os.environ.get("PORT", 4000)`, `Deno.env.get("PORT") ?? "4000"`, `getenv("PORT", "4000")`. */
const fallback = /\bPORT["'\])]{0,3} {0,2}(?:\|\||\?\?|,|or\b) {0,2}["']?(\d{2,5})\b/
const environment = /\bPORT\b/
const fixed = /\.listen\( {0,2}(\d{2,5})\b/

/** In the code of the program's first file. */
export async function portInCode(folder: Folder, path: string): Promise<PortHint | null> {
  const text = await folder.text(path)
  if (text === null) return null
  const file = folder.full(path)
  const standard = validPort(fallback.exec(text)?.[1])
  if (standard !== null)
    return { port: standard, evidence: { file, says: `listens on PORT, else on ${standard}` }, isFixed: false }
  const number = environment.test(text) ? null : validPort(fixed.exec(text)?.[1])
  return number === null ? null : { port: number, evidence: { file, says: `listens on ${number}` }, isFixed: true }
}

function validPort(text: string | undefined): number | null {
  const port = Number(text)
  return text !== undefined && port >= 1 && port <= 65535 ? port : null
}
