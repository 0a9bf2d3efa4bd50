import type { ProjectOptions, ResourceSides, Resources, UpdateProject } from '@berth/contract'
import { projectJson } from '../../platform/db/json-columns/projects.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import { refuse } from '../../platform/failure.ts'
import type { ProjectChanges } from './store.ts'

/** Defaults of a new project. */
export const defaults = {
  type: 'app',
  port: 3000,
  sleepMode: 'always_on',
  autoDeploy: 1,
  previews: 0,
  previewsMaximum: 10,
  previewsMaxAgeDays: 30,
  rollbackWindow: 5,
  resources: {
    production: { cpuCores: 1, memoryMb: 512, diskMb: 4096 },
    build: { cpuCores: 2, memoryMb: 2048, diskMb: 10240 },
  } satisfies Pick<Resources, 'production' | 'build'>,
} as const

const plainFields = [
  'framework',
  'packageManager',
  'installCommand',
  'buildCommand',
  'startCommand',
  'outputDirectory',
  'rootDirectory',
  'dockerfilePath',
  'composePath',
  'buildImage',
  'buildTarget',
  'image',
  'type',
  'port',
  'sleepMode',
  'autoDeploy',
  'previews',
  'previewsMaximum',
  'previewsMaxAgeDays',
  'rollbackWindow',
] as const

/** The value of a non-null column once its field is automatic again. */
const automatic = {
  type: defaults.type,
  port: defaults.port,
  sleepMode: defaults.sleepMode,
  autoDeploy: defaults.autoDeploy,
  previews: defaults.previews,
  previewsMaximum: defaults.previewsMaximum,
  rollbackWindow: defaults.rollbackWindow,
}

/** The columns of the given fields; an absent field is left unchanged, and null makes it automatic. */
export function configColumns(body: ProjectOptions, current: Pick<ProjectRow, 'resources'> | null = null): ProjectChanges {
  const columns: ProjectChanges = {}
  for (const field of plainFields) {
    const value = body[field]
    if (value !== undefined)
      Object.assign(columns, {
        [field]: value === null && field in automatic ? automatic[field as keyof typeof automatic] : value,
      })
  }
  if (body.port !== undefined) columns.portChosen = body.port === null ? 0 : 1
  if (body.healthCheck !== undefined) columns.healthCheck = body.healthCheck && JSON.stringify(body.healthCheck)
  if (body.composeProfiles !== undefined) columns.composeProfiles = body.composeProfiles && JSON.stringify(body.composeProfiles)
  if (body.buildArgs !== undefined) columns.buildArgs = body.buildArgs && JSON.stringify(body.buildArgs)
  if (body.volumes !== undefined) columns.volumes = JSON.stringify(body.volumes ?? [])
  if (body.services !== undefined) columns.services = JSON.stringify(body.services ?? [])
  if (body.serviceRoutes !== undefined) columns.serviceRoutes = body.serviceRoutes && JSON.stringify(body.serviceRoutes)
  if (body.resources !== undefined) columns.resources = JSON.stringify(mergedResources(body.resources, current))
  return columns
}

/**
 * A new digest of an image is deployed automatically only where the user enabled it: unlike a push, the owner of the project
 * did not cause it. The automatic value is therefore off for an image project, and on for others.
 */
export const automaticDeploy = (body: ProjectOptions, image: string | null | undefined): ProjectChanges =>
  body.autoDeploy == null && image ? { autoDeploy: 0 } : {}

type ResourceSettings = Pick<Resources, 'production' | 'build'>

/**
 * Merges changed amounts into the current ones. An absent amount is left unchanged; null restores the default: of one amount, of
 * all amounts of `production` or `build`, or of both. Runtimes accept whole MB, so amounts are rounded up.
 */
export function mergedResources(changes: ResourceSides | null, current: Pick<ProjectRow, 'resources'> | null): ResourceSettings {
  if (changes === null) return defaults.resources
  const before: ResourceSettings = current ? projectJson.resources(current) : defaults.resources
  const mergedSide = (name: keyof ResourceSettings): ResourceSettings[typeof name] => {
    const change = changes[name]
    if (change === null) return defaults.resources[name]
    const amounts = Object.entries(change ?? {}).map(([amount, value]) => [
      amount,
      roundAmount(amount, value ?? defaults.resources[name][amount as keyof ResourceSettings['build']]),
    ])
    return { ...before[name], ...Object.fromEntries(amounts) }
  }
  return { production: mergedSide('production'), build: mergedSide('build') }
}

const roundAmount = (amount: string, value: number): number => (amount === 'cpuCores' ? value : Math.ceil(value))

export const nameColumns = ({ name, slug }: Pick<UpdateProject, 'name' | 'slug'>): ProjectChanges => ({
  ...(name == null ? {} : { name: name.trim() }),
  ...(slug ? { slug } : {}),
})

/** Refuses text that a database cannot store: PostgreSQL refuses NUL, and an unpaired surrogate has no UTF-8 encoding. */
export function refuseUnstorable(value: unknown, path: readonly (string | number)[] = []): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) refuse(path.join('.'), 'contains an invalid character')
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) refuseUnstorable(inner, [...path, key])
  }
}
