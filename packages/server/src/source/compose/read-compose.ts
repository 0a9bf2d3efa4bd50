import { posix } from 'node:path'
import { resolveExtends } from './extends.ts'
import { type Location, type Reading, refuse, within } from './location.ts'
import type { ComposeFile, ComposeService } from './model.ts'
import { parseFile } from './parse-file.ts'
import { projectPath } from './paths.ts'
import { checkReferences } from './relations.ts'
import { readService } from './service.ts'
import { readNetworks, readVolumes } from './shared-parts.ts'
import { fieldsAt, isMapping, refuseOthers, textAt, textsAt } from './values.ts'

export interface ReadComposeOptions {
  /** The project's root, absolute: no path in the file may leave it. */
  folder: string
  /** Folder of the file, relative to the root; the file's paths are relative to it. */
  directory?: string
  env?: Readonly<Record<string, string>>
}

/**
 * Reads a Compose file through an allow-list. It reads no disk: symlinks are checked by `findLinksOutside`. It never throws; an
 * unreadable file is one refusal.
 */
export function readCompose(text: string, options: ReadComposeOptions): ComposeFile {
  const root: Location = { path: '', reading: startReading(options) }
  return readValues(parseFile(text, root) ?? { services: {} }, root)
}

/** Reads a parsed file whose variables are already interpolated. */
export function readValues(file: Record<string, unknown>, root: Location): ComposeFile {
  const { reading } = root
  const { missing, warnings, refused } = reading
  refuseOthers(file, ['name', 'version', 'services', 'volumes', 'networks', 'secrets', 'configs', 'include'], root)
  readInclude(file.include, within(root, 'include'))
  for (const kind of ['secrets', 'configs'] as const)
    reading.definitions[kind] = Object.fromEntries(fieldsAt(file[kind], within(root, kind)))
  const volumes = readVolumes(file.volumes, within(root, 'volumes'))
  const networks = readNetworks(file.networks, within(root, 'networks'))
  const services = readServices(file.services, within(root, 'services'))
  checkReferences(services, volumes, networks, root)
  return { name: textAt(file.name, within(root, 'name')), services, volumes, networks, missing, warnings, refused }
}

export function startReading({ folder, directory = '', env = {} }: ReadComposeOptions): Reading {
  return {
    folder,
    directory,
    // Files often write ${PWD} for the folder that they lie in.
    env: { PWD: posix.join(folder, directory), ...env },
    definitions: { secrets: {}, configs: {} },
    lines: {},
    missing: [],
    warnings: [],
    refused: [],
  }
}

function readServices(value: unknown, location: Location): ComposeService[] {
  const services = isMapping(value) ? resolveExtends(value, location) : {}
  if (Object.keys(services).length === 0 && location.reading.refused.length === 0) refuse(location, 'the file has no services')
  return Object.entries(services).flatMap(([name, item]) => readService(name, item, within(location, name)) ?? [])
}

function readInclude(value: unknown, location: Location): void {
  const items = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
  for (const [index, item] of items.entries()) {
    const at = within(location, index)
    const fields: Record<string, unknown> = isMapping(item) ? item : { path: item }
    const paths = [fields.path, fields.env_file, fields.project_directory].flatMap((part) => textsAt(part, at))
    for (const path of paths)
      if (projectPath(path, 'the included file', at) !== null)
        refuse(at, `"${path}" is not included: copy its services into this file, or into its override file`)
  }
}
