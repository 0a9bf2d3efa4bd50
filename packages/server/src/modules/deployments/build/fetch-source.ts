import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { FolderMissing, FolderOutside, NotAFolder } from '../../../drivers/folder/allowed-folder.ts'
import { copyFolder } from '../../../drivers/folder/copy-folder.ts'
import { GitError } from '../../../drivers/git/git-errors.ts'
import type { GitRemote } from '../../../drivers/git/remote.ts'
import { folderReader } from '../../../drivers/reader/folder-reader.ts'
import { unpackSource } from '../../../drivers/tarball/unpack-source.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import { DeployFailed } from '../deploy-failed.ts'
import { type DeployedSource, deployedSource } from '../plan/deployed.ts'
import type { DeployStep, StepContext } from '../step.ts'
import { updateDeployment } from '../store.ts'

export const sourceFolder = ({ folder }: Pick<StepContext, 'folder'>) => join(folder, 'source')

/** Writes the files of the deployment's commit, local folder or upload into its working folder. */
export const fetchSource: DeployStep = {
  name: 'fetch',
  deadlineMs: 15 * 60_000,
  isDone: ({ deployment }) => deployment.artifacts !== null,
  async run(deploying) {
    const targetFolder = sourceFolder(deploying)
    await rm(targetFolder, { recursive: true, force: true })
    await mkdir(deploying.folder, { recursive: true })
    const source = deployedSource(deploying.deployment)
    // The reader process starts while the source is downloaded.
    if (source.kind !== 'image') folderReader.warm()
    if (source.kind === 'git') return checkOut(source, targetFolder, deploying)
    if (source.kind === 'local') return copyLocal(source.path, targetFolder, deploying)
    if (source.kind === 'upload') return unpack(source.sessionId, targetFolder, deploying)
    await mkdir(targetFolder)
    return undefined
  },
}

async function checkOut(
  source: Extract<DeployedSource, { kind: 'git' }>,
  targetFolder: string,
  deploying: StepContext,
): Promise<DeploymentRow> {
  const { deps, project, log, abort, deployment } = deploying
  const revision = { ...(source.branch ? { branch: source.branch } : {}), ...(source.commit ? { commit: source.commit } : {}) }
  log.line(`Fetching ${source.url}${source.branch ? ` (${source.branch})` : ''}`)
  try {
    const request = (remote: GitRemote) =>
      deps.git
        .checkout(remote, revision, targetFolder, {
          abort,
          onProgress: (line) => log.line(line),
          ...(source.ref ? { ref: source.ref } : {}),
          // Submodules of a fork are fetched without a credential: the fork's author could name a private repository.
          ...(source.fromFork
            ? {}
            : { credentialFor: async (url) => (await deps.projects.remoteOf(project, url, abort)).credential }),
        })
        .then((fetched) => ({ ...fetched, remote }))
    const { commit, warnings, remote } = await deps.projects.readRemote(project, request, { url: source.url, abort })
    for (const warning of warnings) log.line(warning)
    const commitColumns = { commitSha: commit, ...(await readCommitDetails(commit, remote, source, deploying)) }
    await updateDeployment(deps.database.db, deployment.id, commitColumns)
    log.line(`At commit ${commit}`)
    return { ...deployment, ...commitColumns }
  } catch (error) {
    if (error instanceof GitError) throw new DeployFailed('source_failed', error.message)
    throw error
  }
}

/** Commit message and author: from the git host's event if known, else from the repository. A failure is ignored. */
async function readCommitDetails(
  commit: string,
  remote: GitRemote,
  { branch }: { branch: string | null },
  { deps, abort, deployment }: StepContext,
) {
  const { commitSha, commitMessage, commitAuthor } = deployment
  if (commitSha === commit && commitMessage !== null) return { commitMessage, commitAuthor }
  const recent = await deps.git.recentCommits(remote, branch ?? undefined, 20, { abort }).catch(() => [])
  const details = recent.find(({ sha }) => sha === commit)
  return { commitMessage: details?.message ?? null, commitAuthor: details?.author ?? null }
}

/** Copies a local folder, so that edits during the build have no effect. Read permission is checked again here. */
async function copyLocal(path: string, targetFolder: string, { log, abort, deps }: StepContext): Promise<undefined> {
  log.line(`Copying ${path}`)
  const { projectRoots: roots, dataDir } = deps.settings
  await copyFolder(path, targetFolder, { roots, dataDir }, abort).catch((error: unknown) => {
    if (error instanceof FolderMissing)
      throw new DeployFailed('source_failed', `The folder ${path} no longer exists. Create it again, or set another source.`)
    const isRefused = error instanceof FolderOutside || error instanceof NotAFolder
    throw isRefused ? new DeployFailed('source_failed', `${error.message} (BERTH_PROJECT_ROOTS)`) : error
  })
  return undefined
}

async function unpack(sessionId: string, targetFolder: string, { deps, log, abort }: StepContext): Promise<undefined> {
  log.line('Unpacking the upload')
  await unpackSource(deps.projects.uploadFile(sessionId), targetFolder, { abort }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new DeployFailed('source_failed', 'The upload was deleted. Upload the folder again.')
    throw error
  })
  return undefined
}
