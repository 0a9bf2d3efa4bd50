import { hash } from 'node:crypto'
import type { PendingChange } from '@berth/contract'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'

/** The settings that a deployment was made with, as far as they are compared later. */
export interface DeployedSettings {
  /** null: made before it was recorded. */
  configHash: string | null
  resourcesHash: string | null
  /** null: also of an environment other than production. */
  envVersion: number | null
}

/** Columns that are in force only once a deployment was made with them. */
export const deployedColumns = [
  'type',
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
  'buildArgs',
  'buildTarget',
  'healthCheck',
  'volumes',
  'services',
  'serviceRoutes',
  'serverId',
] as const satisfies readonly (keyof ProjectRow)[]

export const settingsOf = (row: ProjectRow): DeployedSettings => ({
  configHash: hash('sha1', configText(row), 'base64url'),
  resourcesHash: hash('sha1', row.resources, 'base64url'),
  envVersion: row.envVersion,
})

/** The settings of now against those of the live deployment. A setting that was never recorded counts as unchanged. */
export function pendingChanges(row: ProjectRow, live: DeployedSettings | undefined): PendingChange[] {
  if (!live) return []
  const now = settingsOf(row)
  const differs = (name: keyof DeployedSettings) => live[name] !== null && live[name] !== now[name]
  const changes: PendingChange[] = []
  if (differs('configHash')) changes.push('config')
  if (differs('envVersion')) changes.push('env')
  if (differs('resourcesHash')) changes.push('resources')
  return changes
}

/** Columns without a value are left out, so that a column of a later release changes no earlier hash. */
function configText(row: ProjectRow): string {
  let text = row.portChosen ? `port=${row.port}\0` : ''
  for (const column of deployedColumns) {
    const value = row[column]
    if (value !== null && value !== undefined) text += `${column}=${value}\0`
  }
  return text
}
