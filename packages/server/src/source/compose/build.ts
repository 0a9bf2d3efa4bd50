import { type Location, refuse, warn, within } from './location.ts'
import type { ComposeBuild } from './model.ts'
import { projectPath } from './paths.ts'
import { fieldsAt, isMapping, mayBeOn, notSupported, pairsAt, textAt } from './values.ts'

export function readBuild(value: unknown, location: Location): ComposeBuild | null {
  if (value === null) return null
  const fields = isMapping(value) ? value : { context: value }
  const contextLocation = isMapping(value) ? within(location, 'context') : location
  const context = contextPath(textAt(fields.context, contextLocation) ?? '.', contextLocation)
  for (const [key, item] of fieldsAt(fields, location)) readOther(key, item, within(location, key))
  if (context === null) return null
  const dockerfile = textAt(fields.dockerfile, within(location, 'dockerfile'))
  const file = dockerfile === null ? null : dockerfilePath(context, dockerfile, within(location, 'dockerfile'))
  if (dockerfile !== null && file === null) return null
  if (dockerfile !== null && fields.dockerfile_inline != null)
    refuse(within(location, 'dockerfile_inline'), 'conflicts with dockerfile: keep one of them')
  return {
    context,
    dockerfile: file,
    dockerfileInline: textAt(fields.dockerfile_inline, within(location, 'dockerfile_inline')),
    args: readArgs(fields.args, within(location, 'args')),
    target: textAt(fields.target, within(location, 'target')),
  }
}

function contextPath(context: string, location: Location): string | null {
  if (!/^([a-z][a-z0-9+.-]*:\/\/|git@|github\.com\/)/i.test(context)) return projectPath(context, 'the build context', location)
  refuse(location, `the build context "${context}" is not a folder of the project`)
  return null
}

/** Path of the Dockerfile. Unlike every other path, it is relative to the build context. */
function dockerfilePath(context: string, dockerfile: string, location: Location): string | null {
  const reading = { ...location.reading, directory: context }
  return projectPath(dockerfile, 'the Dockerfile', { ...location, reading })
}

function readArgs(value: unknown, location: Location): Record<string, string> {
  const { env } = location.reading
  return Object.fromEntries(
    pairsAt(value, location).flatMap(([key, item]) => {
      const value = item ?? (Object.hasOwn(env, key) ? env[key] : undefined)
      return value === undefined ? [] : [[key, value]]
    }),
  )
}

const supportedFields = ['context', 'dockerfile', 'dockerfile_inline', 'args', 'target']

/** Build settings that would give the build access to the host. */
const hostAccessFields: Record<string, (value: unknown, location: Location) => void> = {
  privileged: (value, location) => mayBeOn(value) && refuse(location, 'a privileged build would control the whole machine'),
  entitlements: (value, location) => mayBeOn(value) && refuse(location, 'a build may not use entitlements of the host'),
  ssh: (value, location) => mayBeOn(value) && refuse(location, "a build has no access to the host's SSH keys"),
  network: (value, location) => {
    const network = textAt(value, location)
    if (network === null || network === 'default') return
    if (network === 'none') refuse(location, '"none" is not supported: a build has a network')
    else refuse(location, `a build cannot join the network "${network}"`)
  },
  additional_contexts: (value, location) => {
    for (const [name] of pairsAt(value, location))
      refuse(within(location, name), 'is not supported: copy from the build context, or from a stage of the Dockerfile')
  },
}

/** Settings for caching and for naming the image. */
const withoutEffect = ['cache_from', 'cache_to', 'no_cache', 'pull', 'tags', 'labels', 'platforms', 'provenance', 'sbom']

const reasons: Record<string, string> = {
  secrets: 'is not supported: RUN --mount=type=secret,id=NAME reads the variable NAME of the project',
  extra_hosts: 'is not supported: remove it',
}

function readOther(key: string, value: unknown, location: Location): void {
  if (Object.hasOwn(hostAccessFields, key)) hostAccessFields[key]!(value, location)
  else if (withoutEffect.includes(key)) warn(location, 'has no effect on the image')
  else if (!supportedFields.includes(key)) refuse(location, Object.hasOwn(reasons, key) ? reasons[key]! : notSupported)
}
