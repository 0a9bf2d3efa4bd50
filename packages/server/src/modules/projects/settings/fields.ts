import type { ProjectOptions, Resources, UpdateProject } from '@berth/contract'
import { refuse } from '../../../platform/failure.ts'
import type { ProjectChanges } from '../store.ts'

/** What a project has before anybody says otherwise. */
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
  'type',
  'port',
  'sleepMode',
  'autoDeploy',
  'previews',
  'previewsMaximum',
  'previewsMaxAgeDays',
  'rollbackWindow',
] as const

/** The columns of the fields that are named; a field that is not stays as it is. */
export function configColumns(body: ProjectOptions): ProjectChanges {
  const columns: ProjectChanges = {}
  for (const field of plainFields) if (body[field] !== undefined) Object.assign(columns, { [field]: body[field] })
  if (body.port !== undefined) columns.portChosen = 1
  if (body.healthCheck !== undefined) columns.healthCheck = body.healthCheck && JSON.stringify(body.healthCheck)
  if (body.volumes) columns.volumes = JSON.stringify(body.volumes)
  if (body.services) columns.services = JSON.stringify(body.services)
  if (body.serviceRoutes !== undefined) columns.serviceRoutes = body.serviceRoutes && JSON.stringify(body.serviceRoutes)
  return columns
}

export function nameColumns({ name, slug }: Pick<UpdateProject, 'name' | 'slug'>): ProjectChanges {
  return { ...(name === undefined ? {} : { name: name.trim() }), ...(slug === undefined ? {} : { slug }) }
}

/** Neither database keeps these as they are: PostgreSQL refuses NUL, and half a surrogate pair has no bytes. */
export function refuseUnstorable(value: unknown, path: readonly (string | number)[] = []): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) refuse(path.join('.'), 'holds a character that cannot be kept')
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) refuseUnstorable(inner, [...path, key])
  }
}
