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
export async function versionOf(project: ProjectRow, deps: ProjectsDeps): Promise<Source | undefined> {
  const live = (await deps.projectPorts.deployments?.liveVersion(project.id))?.source
  if (live?.kind === 'upload') return (await isKept(live.sessionId, deps)) ? live : nextVersion(project, deps)
  return live ?? nextVersion(project, deps)
}

/** The upload session of that source, if it is an upload. */
export async function uploadVersion(project: ProjectRow, deps: ProjectsDeps): Promise<string | null> {
  const version = await versionOf(project, deps)
  return version?.kind === 'upload' ? version.sessionId : null
}

/** The source that production's next deployment builds. */
export async function nextVersion(project: ProjectRow, deps: ProjectsDeps): Promise<Source | undefined> {
  const production = await findEnvironment(deps.database.db, project.id, 'production')
  return production && nextSource(project, production, production, hostUrlsOf(deps.settings))
}

/** Tarballs of deployments from before they were kept may no longer exist. */
const isKept = (sessionId: string, deps: ProjectsDeps): Promise<boolean> =>
  stat(new UploadFiles(deps).of(sessionId)).then(
    () => true,
    () => false,
  )
