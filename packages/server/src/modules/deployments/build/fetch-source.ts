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
import type { Deploying, DeployStep } from '../step.ts'
import { updateDeployment } from '../store.ts'

export const sourceFolder = ({ folder }: Pick<Deploying, 'folder'>) => join(folder, 'source')

/** Puts the files of exactly that commit, folder or upload into the deployment's own folder. */
export const fetchSource: DeployStep = {
  name: 'fetch',
  deadlineMs: 15 * 60_000,
  isDone: ({ deployment }) => deployment.artifacts !== null,
  async run(deploying) {
    const into = sourceFolder(deploying)
    await rm(into, { recursive: true, force: true })
    await mkdir(deploying.folder, { recursive: true })
    const source = deployedSource(deploying.deployment)
    // It starts while the source is on its way.
    if (source.kind !== 'image') folderReader.warm()
    if (source.kind === 'git') return checkOut(source, into, deploying)
    if (source.kind === 'local') return copyLocal(source.path, into, deploying)
    if (source.kind === 'upload') return unpack(source.sessionId, into, deploying)
    await mkdir(into)
    return undefined
  },
}

async function checkOut(
  source: Extract<DeployedSource, { kind: 'git' }>,
  into: string,
  deploying: Deploying,
): Promise<DeploymentRow> {
  const { deps, project, log, abort, deployment } = deploying
  const wanted = { ...(source.branch ? { branch: source.branch } : {}), ...(source.commit ? { commit: source.commit } : {}) }
  log.line(`Fetching ${source.url}${source.branch ? ` (${source.branch})` : ''}`)
  try {
    const request = (remote: GitRemote) =>
      deps.git
        .checkout(remote, wanted, into, {
          abort,
          onProgress: (line) => log.line(line),
          ...(source.ref ? { ref: source.ref } : {}),
          // A fork may name any submodule: fetch it without our credential, which could open a private repository for its author.
          ...(source.fromFork
            ? {}
            : { credentialFor: async (url) => (await deps.projects.remoteOf(project, url, abort)).credential }),
        })
        .then((fetched) => ({ ...fetched, remote }))
    const { commit, warnings, remote } = await deps.projects.readRemote(project, request, { url: source.url, abort })
    for (const warning of warnings) log.line(warning)
    const facts = { commitSha: commit, ...(await factsOf(commit, remote, source, deploying)) }
    await updateDeployment(deps.database.db, deployment.id, facts)
    log.line(`At commit ${commit}`)
    return { ...deployment, ...facts }
  } catch (error) {
    if (error instanceof GitError) throw new DeployFailed('source_failed', error.message)
    throw error
  }
}

/** Commit message and author: from the git host's event if known, else from the repository. A failure is ignored. */
async function factsOf(
  commit: string,
  remote: GitRemote,
  { branch }: { branch: string | null },
  { deps, abort, deployment }: Deploying,
) {
  const { commitSha, commitMessage, commitAuthor } = deployment
  if (commitSha === commit && commitMessage !== null) return { commitMessage, commitAuthor }
  const recent = await deps.git.recentCommits(remote, branch ?? undefined, 20, { abort }).catch(() => [])
  const about = recent.find(({ sha }) => sha === commit)
  return { commitMessage: about?.message ?? null, commitAuthor: about?.author ?? null }
}

/** Copies a local folder, so that edits during the build have no effect. Read permission is checked again here. */
async function copyLocal(path: string, into: string, { log, abort, deps }: Deploying): Promise<undefined> {
  log.line(`Copying ${path}`)
  const { projectRoots: roots, dataDir } = deps.settings
  await copyFolder(path, into, { roots, dataDir }, abort).catch((error: unknown) => {
    if (error instanceof FolderMissing) throw new DeployFailed('source_failed', `The folder ${path} does not exist any more`)
    const isRefused = error instanceof FolderOutside || error instanceof NotAFolder
    throw isRefused ? new DeployFailed('source_failed', `${error.message} (BERTH_PROJECT_ROOTS)`) : error
  })
  return undefined
}

async function unpack(sessionId: string, into: string, { deps, log, abort }: Deploying): Promise<undefined> {
  log.line('Unpacking the upload')
  await unpackSource(deps.projects.uploadFile(sessionId), into, { abort }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new DeployFailed('source_failed', 'The upload was deleted. Upload the folder again.')
    throw error
  })
  return undefined
}
