import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import { fail } from '../../platform/failure.ts'

/** 409 for a project whose deletion has begun, where no operation on the project is checked. */
export function refuseDeleting({ deletingSince }: Pick<ProjectRow, 'deletingSince'>): void {
  if (deletingSince !== null) fail('conflict', { message: 'The project is being deleted' })
}
