import { hash } from 'node:crypto'
import type { PendingChange } from '@berth/contract'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { carriedParts } from '../carried-parts.ts'
import type { DeployedSettings } from '../deployed-settings.ts'
import { isUploadProject } from '../source.ts'

/** Columns that take effect with the next deployment. */
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
  'composeProfiles',
  'buildImage',
  'buildArgs',
  'buildTarget',
  'image',
  'healthCheck',
  'volumes',
  'services',
  'serviceRoutes',
  'serverId',
] as const satisfies readonly (keyof ProjectRow)[]

export const settingsOf = (row: ProjectRow): DeployedSettings => ({
  configHash: hash('sha1', configText(row), 'base64url'),
  resourcesHash: hash('sha1', row.resources, 'base64url'),
  sourceHash: sourceHash(row),
  envVersion: row.envVersion,
})

const sourceColumns = ['gitProvider', 'gitOwner', 'gitRepo', 'gitBranch', 'gitUrl', 'localPath'] as const

/**
 * `deployedSource`: the upload of a deployment, if it is not the project's own source. Null for an upload that stands for a
 * folder of another instance: the folder is the source again once the project is back there.
 */
export function sourceHash(
  row: ProjectRow,
  deployedSource: { kind: string; sessionId?: string } = { kind: 'none' },
): string | null {
  if (deployedSource.kind === 'upload' && carriedParts(row).folderUploadId === deployedSource.sessionId) return null
  const sessionId = deployedSource.kind === 'upload' ? deployedSource.sessionId : row.uploadSessionId
  const text = isUploadProject(row) ? `upload=${sessionId}` : sourceColumns.map((column) => row[column] ?? '').join('\0')
  return hash('sha1', text, 'base64url')
}

/** Compares the current settings with those of the live deployment. A setting that was never recorded counts as unchanged. */
export function pendingChanges(row: ProjectRow, live: DeployedSettings | undefined): PendingChange[] {
  if (!live) return []
  const now = settingsOf(row)
  const differs = (name: keyof DeployedSettings) => live[name] !== null && live[name] !== now[name]
  const changes: PendingChange[] = []
  if (differs('sourceHash')) changes.push('source')
  if (differs('configHash')) changes.push('config')
  if (differs('envVersion')) changes.push('env')
  if (differs('resourcesHash')) changes.push('resources')
  return changes
}

/** Columns without a value are left out, so that a column of a later release does not change an earlier hash. */
function configText(row: ProjectRow): string {
  let text = row.portChosen ? `port=${row.port}\0` : ''
  for (const column of deployedColumns) {
    const value = row[column]
    if (value !== null && value !== undefined) text += `${column}=${value}\0`
  }
  return text
}
