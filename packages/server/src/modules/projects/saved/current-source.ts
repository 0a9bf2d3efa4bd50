import { stat } from 'node:fs/promises'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { Source } from '../deployment-source.ts'
import type { ProjectsDeps } from '../deps.ts'
import { hostUrlsOf } from '../git-remote.ts'
import { nextSource } from '../source.ts'
import { findEnvironment } from '../store.ts'
import { UploadFiles } from '../uploads/upload-files.ts'

/**
 * The source of the deployment that serves production, else of the next one. Used by moves, exports, backups and `info`;
 * undefined where the project has no source.
 */
export async function currentSource(project: ProjectRow, deps: ProjectsDeps): Promise<Source | undefined> {
  const live = (await deps.projectPorts.deployments?.liveVersion(project.id))?.source
  if (live?.kind === 'upload') return (await uploadExists(live.sessionId, deps)) ? live : nextProductionSource(project, deps)
  return live ?? nextProductionSource(project, deps)
}

/** The upload session of that source, if it is an upload. */
export async function uploadIdOf(project: ProjectRow, deps: ProjectsDeps): Promise<string | null> {
  const version = await currentSource(project, deps)
  return version?.kind === 'upload' ? version.sessionId : null
}

/** The source that production's next deployment builds. */
export async function nextProductionSource(project: ProjectRow, deps: ProjectsDeps): Promise<Source | undefined> {
  const production = await findEnvironment(deps.database.db, project.id, 'production')
  return production && nextSource(project, production, production, hostUrlsOf(deps.settings))
}

/** Tarballs of deployments from before they were kept may no longer exist. */
const uploadExists = (sessionId: string, deps: ProjectsDeps): Promise<boolean> =>
  stat(new UploadFiles(deps).of(sessionId)).then(
    () => true,
    () => false,
  )
