import type { ComposeMount } from './model.ts'
import { fileMount } from './mounts.ts'
import { type Place, refuse, warn, within } from './place.ts'
import { isMapping, listAt, textAt, warnOfOthers } from './values.ts'

/** Compose hands `secrets` and `configs` that are files to a container as read-only binds, and so does the model. */
export function readFileMounts(kind: 'secrets' | 'configs', value: unknown, place: Place): ComposeMount[] {
  return listAt(value, place).flatMap((item, index) => {
    const at = within(place, index)
    const fields = isMapping(item) ? item : { source: item }
    warnOfOthers(fields, ['source', 'target', 'uid', 'gid', 'mode'], at)
    const name = textAt(fields.source, at)
    if (name === null) return []
    const file = definedFile(kind, name, at)
    const target = containerTarget(kind, name, textAt(fields.target, within(at, 'target')))
    return file === null ? [] : (fileMount(file, target, { ...at, path: `${kind}.${name}.file` }) ?? [])
  })
}

function containerTarget(kind: 'secrets' | 'configs', name: string, target: string | null): string {
  if (kind === 'configs') return target ?? `/${name}`
  return target?.startsWith('/') ? target : `/run/secrets/${target ?? name}`
}

function definedFile(kind: 'secrets' | 'configs', name: string, place: Place): string | null {
  const definitions = place.reading.definitions[kind]
  const definition = Object.hasOwn(definitions, name) ? definitions[name] : undefined
  if (definition === undefined) refuse(place, `"${name}" is not declared under ${kind}`)
  else if (isMapping(definition) && typeof definition.file === 'string') return bindSource(definition.file)
  else warn({ ...place, path: `${kind}.${name}` }, 'only a file of the project is understood; it is left out')
  return null
}

/** A bare file name would read as the name of a volume. */
const bindSource = (file: string) => (/^[./~\\]/.test(file) ? file : `./${file}`)
