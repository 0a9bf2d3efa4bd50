import { type Location, refuse, warn, within } from './location.ts'
import type { ComposeInlineFile, ComposeMount, ComposeService } from './model.ts'
import { fileMount } from './mounts.ts'
import { isMapping, listAt, refuseOthers, textAt } from './values.ts'

type Kind = 'secrets' | 'configs'

/**
 * Reads `secrets` and `configs`. As in Compose, those from a file become read-only bind mounts. Those from a text, in the file
 * (`content`) or in a variable (`environment`), become files inside the container.
 */
export function readFileMounts(kind: Kind, value: unknown, location: Location, service: ComposeService): ComposeMount[] {
  return listAt(value, location).flatMap((item, index) => {
    const at = within(location, index)
    const fields: Record<string, unknown> = isMapping(item) ? item : { source: item }
    refuseOthers(fields, ['source', 'target', 'uid', 'gid', 'mode'], at)
    const name = textAt(fields.source, at)
    if (name === null) return []
    const definition = definitionOf(kind, name, at)
    const target = containerTarget(kind, name, textAt(fields.target, within(at, 'target')))
    if (definition === null) return []
    const defined = within({ ...at, path: kind }, name)
    if (definition.file !== undefined) return projectFileMount(definition, fields, target, { at, defined })
    service.files.push(...inlineFile(definition, fields, target, { at, defined }, service))
    return []
  })
}

interface Locations {
  at: Location
  /** The top-level declaration. */
  defined: Location
}

function containerTarget(kind: Kind, name: string, target: string | null): string {
  if (kind === 'configs') return target ?? `/${name}`
  return target?.startsWith('/') ? target : `/run/secrets/${target ?? name}`
}

function definitionOf(kind: Kind, name: string, location: Location): Record<string, unknown> | null {
  const definitions = location.reading.definitions[kind]
  const definition = Object.hasOwn(definitions, name) ? definitions[name] : undefined
  if (!isMapping(definition)) {
    refuse(location, `"${name}" is not declared under ${kind}`)
    return null
  }
  const defined = within({ ...location, path: kind }, name)
  refuseOthers(definition, ['file', 'content', 'environment', 'name', 'labels'], defined, {
    external: `is not supported: give it as a file, as content or as a variable (environment)`,
    template_driver: 'is not supported: variables in content are filled in as in the rest of the file',
  })
  const sources = ['file', 'content', 'environment'].filter((key) => definition[key] !== undefined && definition[key] !== null)
  if (sources.length === 1) return definition
  if (definition.external === undefined) refuse(defined, 'needs one of file, content and environment')
  return null
}

function projectFileMount(
  definition: Record<string, unknown>,
  fields: Record<string, unknown>,
  target: string,
  { at, defined }: Locations,
) {
  const location = within(defined, 'file')
  const file = textAt(definition.file, location)
  for (const key of ['uid', 'gid', 'mode'])
    if (fields[key] !== undefined) warn(within(at, key), 'has no effect on a file of the project, as with docker compose')
  return file === null ? [] : (fileMount(bindSource(file), target, location) ?? [])
}

const maxContentLength = 64 * 1024

function inlineFile(
  definition: Record<string, unknown>,
  fields: Record<string, unknown>,
  target: string,
  { at, defined }: Locations,
  service: ComposeService,
): ComposeInlineFile[] {
  const content = contentOf(definition, defined, service)
  if (content === null) return []
  if (!/^\/[^\0]+$/.test(target)) refuse(within(at, 'target'), `"${target}" is not a path in the container`)
  if (content.length > maxContentLength) refuse(defined, `is longer than ${maxContentLength / 1024} KiB`)
  const number = (key: string, base: number, fallback: number) => {
    const text = textAt(fields[key], within(at, key))
    if (text === null) return fallback
    const value = /^(0o?)?[0-9]{1,10}$/.test(text) ? Number.parseInt(text.replace(/^0o/, ''), base) : Number.NaN
    if (Number.isNaN(value)) refuse(within(at, key), `"${text}" is not a number`)
    return Number.isNaN(value) ? fallback : value
  }
  return [{ path: target, content, mode: number('mode', 8, 0o444) & 0o777, uid: number('uid', 10, 0), gid: number('gid', 10, 0) }]
}

function contentOf(
  { content, environment }: Record<string, unknown>,
  location: Location,
  service: ComposeService,
): string | null {
  if (content !== undefined && content !== null) return textAt(content, within(location, 'content'))
  const at = within(location, 'environment')
  const name = textAt(environment, at)
  if (name === null) return null
  service.variables.push(name)
  const { env, missing } = location.reading
  if (Object.hasOwn(env, name)) return env[name]!
  missing.push({ path: at.path, variable: name, message: 'its value is the content of a file' })
  return null
}

/** Prefixes a bare file name, which would otherwise be a volume name. */
const bindSource = (file: string) => (/^[./~\\]/.test(file) ? file : `./${file}`)
