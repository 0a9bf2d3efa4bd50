import type { ComposeBuild } from './model.ts'
import { projectPath } from './paths.ts'
import { type Place, refuse, warn, within } from './place.ts'
import { fieldsAt, isMapping, mayBeOn, notSupported, pairsAt, textAt } from './values.ts'

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
  if (dockerfile !== null && fields.dockerfile_inline != null)
    refuse(within(place, 'dockerfile_inline'), 'stands beside dockerfile: keep one of them')
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

/** Path of the Dockerfile. Unlike every other path, it is relative to the build context. */
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

/** Build settings that would give the build access to the host. */
const escapes: Record<string, (value: unknown, place: Place) => void> = {
  privileged: (value, place) => mayBeOn(value) && refuse(place, 'a privileged build owns the machine'),
  entitlements: (value, place) => mayBeOn(value) && refuse(place, 'a build gets no entitlements of the host'),
  ssh: (value, place) => mayBeOn(value) && refuse(place, "the host's SSH keys are not handed to a build"),
  network: (value, place) => {
    const network = textAt(value, place)
    if (network === null || network === 'default') return
    if (network === 'none') refuse(place, '"none" is not supported: a build has a network')
    else refuse(place, `a build cannot join the network "${network}"`)
  },
  additional_contexts: (value, place) => {
    for (const [name] of pairsAt(value, place))
      refuse(within(place, name), 'is not supported: copy from the build context, or from a stage of the Dockerfile')
  },
}

/** Settings for caching and for naming the image. */
const withoutEffect = ['cache_from', 'cache_to', 'no_cache', 'pull', 'tags', 'labels', 'platforms', 'provenance', 'sbom']

const reasons: Record<string, string> = {
  secrets: 'is not supported: RUN --mount=type=secret,id=NAME reads the variable NAME of the project',
  extra_hosts: 'is not supported: remove it',
}

function readOther(key: string, value: unknown, place: Place): void {
  if (Object.hasOwn(escapes, key)) escapes[key]!(value, place)
  else if (withoutEffect.includes(key)) warn(place, 'has no effect on what is built')
  else if (!known.includes(key)) refuse(place, Object.hasOwn(reasons, key) ? reasons[key]! : notSupported)
}
