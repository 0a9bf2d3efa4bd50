import { recordOf, textEntries, textOf } from '../../values.ts'
import type { Folder } from '../folder.ts'
import { addDependency, type Manifest } from './manifest.ts'

export interface DenoManifest extends Manifest {
  tasks: Map<string, string>
}

export const readDeno = (folder: Folder): Promise<DenoManifest | null> => folder.once('deno', () => read(folder))

async function read(folder: Folder): Promise<DenoManifest | null> {
  const file = ['deno.json', 'deno.jsonc'].find((name) => folder.has(name))
  if (!file) return null
  const json = recordOf(await folder.json(file))
  const dependencies: Manifest['dependencies'] = new Map()
  for (const [name, source] of textEntries(json.imports)) addDependency(dependencies, name.replace(/\/$/, ''), source, file)
  // A task may be a text or an object that holds its command.
  const tasks = Object.entries(recordOf(json.tasks)).flatMap(([name, task]) => {
    const command = textOf(task) ?? textOf(recordOf(task).command)
    return command === null ? [] : [[name, command] as const]
  })
  return { file, name: textOf(json.name), dependencies, tasks: new Map(tasks) }
}
