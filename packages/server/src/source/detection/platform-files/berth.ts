import { posix } from 'node:path'
import { dig, recordOf, textOf } from '../../values.ts'
import type { Folder } from '../folder.ts'
import type { HintReader } from './hints.ts'

const file = 'berth.json'

/** Reads berth.json: its build and run settings apply to a push as well as to `berth deploy`. */
export const readBerth: HintReader = async (folder) => {
  const fields = await settingsOf(folder)
  if (fields === null) return null
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

/** Settings of the folder's own file, or its entry in a parent's file with several projects. */
async function settingsOf(folder: Folder): Promise<Record<string, unknown> | null> {
  for (const parent of folder.upwards) {
    const json = await parent.json(file)
    if (json === null) continue
    const { projects } = recordOf(json)
    if (!Array.isArray(projects)) return parent.path === folder.path ? recordOf(json) : null
    const below = posix.relative(parent.path, folder.path)
    const entry = projects.map(recordOf).find(({ rootDirectory }) => isFolder(rootDirectory, below))
    return entry ?? null
  }
  return null
}

const isFolder = (rootDirectory: unknown, path: string) =>
  typeof rootDirectory === 'string' && posix.join('/', rootDirectory, '/') === posix.join('/', path, '/')
