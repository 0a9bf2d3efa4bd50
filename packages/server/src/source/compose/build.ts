import type { ComposeBuild } from './model.ts'
import { projectPath } from './paths.ts'
import { type Place, refuse, warn, within } from './place.ts'
import { fieldsAt, isMapping, mayBeOn, pairsAt, textAt } from './values.ts'

export function readBuild(value: unknown, place: Place): ComposeBuild | null {
  if (value === null) return null
  const fields = isMapping(value) ? value : { context: value }
  const contextPlace = isMapping(value) ? within(place, 'context') : place
  const context = contextPath(textAt(fields.context, contextPlace) ?? '.', contextPlace)
  for (const [key, item] of fieldsAt(fields, place)) readOther(key, item, within(place, key))
  if (context === null) return null
  const dockerfile = textAt(fields.dockerfile, within(place, 'dockerfile'))
  const file = dockerfile === null ? null : dockerfilePath(context, dockerfile, within(place, 'dockerfile'))
  if (dockerfile !== null && file === null) return null
  return {
    context,
    dockerfile: file,
    dockerfileInline: textAt(fields.dockerfile_inline, within(place, 'dockerfile_inline')),
    args: readArgs(fields.args, within(place, 'args')),
    target: textAt(fields.target, within(place, 'target')),
  }
}

function contextPath(context: string, place: Place): string | null {
  if (!/^([a-z][a-z0-9+.-]*:\/\/|git@|github\.com\/)/i.test(context)) return projectPath(context, 'the build context', place)
  refuse(place, `the build context "${context}" is not a folder of the project`)
  return null
}

/** The file's path counts from the context, unlike every other path. */
function dockerfilePath(context: string, dockerfile: string, place: Place): string | null {
  const reading = { ...place.reading, directory: context }
  return projectPath(dockerfile, 'the Dockerfile', { ...place, reading })
}

function readArgs(value: unknown, place: Place): Record<string, string> {
  const { env } = place.reading
  return Object.fromEntries(
    pairsAt(value, place).flatMap(([key, item]) => {
      const given = item ?? (Object.hasOwn(env, key) ? env[key] : undefined)
      return given === undefined ? [] : [[key, given]]
    }),
  )
}

const known = ['context', 'dockerfile', 'dockerfile_inline', 'args', 'target']

/** What a build may ask for beyond its files. */
const escapes: Record<string, (value: unknown, place: Place) => void> = {
  privileged: (value, place) => mayBeOn(value) && refuse(place, 'a privileged build owns the machine'),
  entitlements: (value, place) => mayBeOn(value) && refuse(place, 'a build gets no entitlements of the host'),
  ssh: (value, place) => mayBeOn(value) && refuse(place, "the host's SSH keys are not handed to a build"),
  network: (value, place) => {
    const network = textAt(value, place)
    if (network === null || network === 'default') return
    if (network === 'none') warn(place, 'is ignored: a build has network')
    else refuse(place, `a build cannot join the network "${network}"`)
  },
  additional_contexts: (value, place) => {
    for (const [name, source] of pairsAt(value, place)) {
      const isPath = source !== null && !/^([a-z][a-z0-9+.-]*:|git@)/i.test(source)
      if (isPath) projectPath(source, 'the build context', within(place, name))
      warn(within(place, name), 'is not understood and is ignored')
    }
  },
}

function readOther(key: string, value: unknown, place: Place): void {
  if (Object.hasOwn(escapes, key)) escapes[key]!(value, place)
  else if (!known.includes(key)) warn(place, 'is not understood and is ignored')
}
