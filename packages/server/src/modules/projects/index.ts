import type { CreateProject, UpdateProject } from '@berth/contract'
import type { ProjectRow } from '../../db/tables/projects.ts'
import type { Caller } from '../../http/handler.ts'
import { openCloneToken } from './clone-token.ts'
import { createProject } from './create-project.ts'
import { createDeletion } from './deletion.ts'
import type { ProjectsDeps } from './deps.ts'
import { checkJob, checkSchedule } from './domain-checks.ts'
import { openEnv, openSecrets } from './env.ts'
import { projectsHandlers } from './handlers.ts'
import { projectsLoaders } from './loaders.ts'
import { powerJob } from './power.ts'
import { showProject, showProjects } from './records.ts'
import { updateProject } from './update-project.ts'
import { storageAddresses } from './upload-address.ts'
import { UploadFiles } from './upload-files.ts'
import { sweepJob, sweepSchedule } from './upload-sweep.ts'

export { environmentHostname, freeHostname, notTaken } from './addresses.ts'
export { changeProject, lockProject, type ProjectSignal, projectsTopic } from './change-project.ts'
export type { ProjectsDeps } from './deps.ts'
export type { OpenedEnv } from './env.ts'
export type * from './neighbours.ts'
export type * from './project-part.ts'
export { judgeAll, servingAt } from './served-domains.ts'
export { remoteUrl, sourceKind } from './source.ts'

/**
 * A *project* is what the service builds and runs: a *source*, a config, *environments* with their *variables*, *domains*
 * and a *status* that is derived from what is true. Modules above tell it what they know as its *neighbours*; what hangs on
 * a project and must go with it is a *part*.
 */
export function createProjects(deps: ProjectsDeps) {
  const deletion = createDeletion(deps)
  return {
    handlers: projectsHandlers(deps, deletion),
    loaders: projectsLoaders(deps),
    /** Mounted beside the table. */
    addresses: storageAddresses(deps),
    jobs: [deletion.job, powerJob(deps), sweepJob(deps), checkJob(deps)],
    schedules: [sweepSchedule, checkSchedule],
    create: (body: CreateProject, caller: Caller) => createProject(body, caller, deps),
    update: (project: ProjectRow, body: UpdateProject) => updateProject(project, body, deps),
    show: (row: ProjectRow) => showProject(row, deps),
    showAll: (rows: readonly ProjectRow[]) => showProjects(rows, deps),
    openEnv: (projectId: string, environment: string) => openEnv(projectId, environment, deps),
    openSecrets: (projectId: string) => openSecrets(projectId, deps),
    /** Where the tarball of a received upload is. */
    uploadFile: (sessionId: string): string => new UploadFiles(deps).of(sessionId),
    openCloneToken: (project: ProjectRow) => openCloneToken(project, deps),
  }
}
