import { dig, recordOf, textOf } from '../manifests/values.ts'
import type { HintReader } from './hints.ts'

const file = 'berth.json'

/** Reads berth.json: its build and run settings apply to a push as well as to `berth deploy`. */
export const readBerth: HintReader = async (folder) => {
  const json = await folder.json(file)
  if (json === null) return null
  const fields = recordOf(json)
  const { type, port } = fields
  return {
    file,
    ...(type === 'static' || type === 'app' ? { type } : {}),
    installCommand: textOf(fields.installCommand),
    buildCommand: textOf(fields.buildCommand),
    startCommand: textOf(fields.startCommand),
    outputDirectory: textOf(fields.outputDirectory),
    port: typeof port === 'number' && Number.isInteger(port) && port >= 1 && port <= 65_535 ? port : null,
    healthPath: textOf(dig(fields, 'healthCheck', 'path')),
  }
}
