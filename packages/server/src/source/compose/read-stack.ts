import { posix } from 'node:path'
import { readEnvFile } from './env-file.ts'
import { MergeTooLarge, maxMerged, merge } from './extends.ts'
import { type Location, refuse, type SourceLine, within } from './location.ts'
import type { ComposeFile } from './model.ts'
import { parseFile } from './parse-file.ts'
import { type ReadComposeOptions, readValues, startReading } from './read-compose.ts'
import { relocate } from './relocate.ts'
import { isMapping, plainText } from './values.ts'

/** The files of a stack on a machine; paths are absolute there. */
export interface StackFiles {
  /** Working directory of `docker compose`: paths in the files are relative to it. */
  workingDir: string
  /** Compose files in the given order; a later one overrides the earlier ones. */
  files: { path: string; text: string }[]
  /** Content of the `.env` file next to them. */
  dotEnv: string | null
  /** Referenced files: `env_file`, and files of `extends`. null: unreadable. */
  others: Record<string, string | null>
}

export interface StackReading {
  file: ComposeFile
  /** Referenced files that were not given; with them the reading is more complete. */
  wanted: string[]
  /** Source lines of the fields. */
  lines?: Record<string, SourceLine>
}

const maxExtended = 8

/**
 * Merges several files as Compose does. It reads no disk and never throws. With `options`, the paths are relative to the root of
 * a project's folder; without them, they are absolute paths on a machine.
 */
export function readStack(stack: StackFiles, options?: ReadComposeOptions): StackReading {
  const directory = posix.normalize(stack.workingDir).replace(/^\/+/, '')
  const root: Location = { path: '', reading: startReading(options ?? { folder: '/', directory, env: envIn(stack.dotEnv) }) }
  const context: Context = { stack, root, budget: { nodes: maxMerged }, wanted: new Set(), parsed: new Map() }
  let merged: Record<string, unknown> = {}
  try {
    for (const { path, text } of stack.files) {
      const values = parseFile(text, root, path)
      if (values) merged = merge(merged, withExtended(values, path, context), context.budget) as Record<string, unknown>
    }
  } catch (error) {
    if (!(error instanceof MergeTooLarge)) throw error
    refuse(root, 'the files are too large once they are merged')
  }
  const file = readValues(merged, root)
  for (const service of file.services)
    service.environment = { ...fromEnvFiles(service.envFiles, context), ...service.environment }
  const wanted = [...context.wanted].filter((path) => !Object.hasOwn(stack.others, path))
  return { file, wanted, lines: root.reading.lines }
}

interface Context {
  stack: StackFiles
  root: Location
  budget: { nodes: number }
  wanted: Set<string>
  /** Services of the extended files. */
  parsed: Map<string, Record<string, unknown>>
}

const envIn = (text: string | null): Record<string, string> => (text === null ? {} : readEnvFile(text))

/** Merges services of other files into the services that extend them. */
function withExtended(values: Record<string, unknown>, path: string, context: Context): Record<string, unknown> {
  if (!isMapping(values.services)) return values
  const services = Object.entries(values.services).map(([name, service]) => [
    name,
    resolveExtended(service, name, path, context, 0),
  ])
  return { ...values, services: Object.fromEntries(services) }
}

function resolveExtended(service: unknown, name: string, path: string, context: Context, depth: number): unknown {
  const baseRef = isMapping(service) ? baseOf(service.extends, path, depth) : null
  if (!isMapping(service) || !baseRef) return service
  const { extends: _, ...overrides } = service
  const { file } = baseRef
  const at = within(within(context.root, 'services'), name)
  const base = depth < maxExtended ? serviceIn(file, baseRef.service, context, depth) : undefined
  if (base === undefined)
    refuse(within(at, 'extends'), `"${file.slice(1)}" has no service "${baseRef.service}", or could not be read`)
  return base === undefined ? overrides : merge(base, overrides, context.budget)
}

/** The file and name of the extended service; null where `extends` is resolved later, in the merged file. */
function baseOf(value: unknown, path: string, depth: number): { file: string; service: string } | null {
  const fields = typeof value === 'string' ? { service: value } : isMapping(value) ? value : {}
  const service = plainText(fields.service)
  if (typeof fields.file === 'string') return { file: posix.resolve(posix.dirname(path), fields.file), service }
  // In an extended file, a service without `file` refers to that same file.
  return depth > 0 && 'service' in fields ? { file: path, service } : null
}

function serviceIn(file: string, name: string, context: Context, depth: number): unknown {
  context.wanted.add(file)
  const services = servicesOf(file, context)
  if (!Object.hasOwn(services, name)) return undefined
  return resolveExtended(services[name], name, file, context, depth + 1)
}

/** Services of an extended file, parsed once. */
function servicesOf(file: string, { stack, root, parsed }: Context): Record<string, unknown> {
  const cached = parsed.get(file)
  if (cached) return cached
  const text = stack.others[file]
  const values = typeof text === 'string' ? parseFile(text, root) : null
  const folder = posix.relative(posix.resolve('/', stack.workingDir), posix.dirname(file))
  const services = Object.fromEntries(
    Object.entries(isMapping(values?.services) ? values.services : {}).map(([name, one]) => [name, relocate(one, folder)]),
  )
  parsed.set(file, services)
  return services
}

function fromEnvFiles(files: ComposeFile['services'][number]['envFiles'], { stack, wanted }: Context): Record<string, string> {
  return Object.assign(
    {},
    ...files.map(({ path }) => {
      const file = `/${path}`
      wanted.add(file)
      return envIn(stack.others[file] ?? null)
    }),
  )
}
