import { projectJson } from '../../platform/db/json-columns/projects.ts'
import type { CarriedParts, ProjectRow } from '../../platform/db/tables/projects.ts'

const noParts: CarriedParts = { rules: [], grants: [], folderUploadId: null }

/** Parts of a transferred project that do not apply on this instance, stored for a transfer back. */
export const carriedParts = (project: Pick<ProjectRow, 'id' | 'carried'>): CarriedParts => projectJson.carried(project) ?? noParts

/** The value of the column `carried`; null without such parts. */
export function carriedColumn(parts: CarriedParts): string | null {
  const isEmpty = parts.rules.length === 0 && parts.grants.length === 0 && parts.folderUploadId === null
  return isEmpty ? null : JSON.stringify(parts)
}
