import { GitAuthFailed, GitError } from '../../../drivers/git/git-errors.ts'
import type { GitRemote } from '../../../drivers/git/remote.ts'
import { GitHostError } from '../../../drivers/git-host/git-host-error.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import { hostUrlsOf, isSameHost, repositoryOf } from '../git-remote.ts'
import type { RepositoryRef } from '../project-ports.ts'
import { remoteUrl } from '../source.ts'
import { openCloneToken } from './clone-token.ts'
import { mayReadRepository } from './hidden-repositories.ts'

/** Timeouts for requesting a token from the host's API: a user waits, a job can take longer. */
const credentialTimeoutMs = { user: 5_000, job: 15_000 }

/** The repository of a project, as a git host names it. */
export const repositoryRef = (project: ProjectRow, { settings }: Pick<ProjectsDeps, 'settings'>): RepositoryRef => ({
  provider: project.gitProvider,
  owner: project.gitOwner,
  repo: project.gitRepo,
  url: remoteUrl(project, hostUrlsOf(settings)),
})

/**
 * Returns a project's remote with its credential, for reading, deploying and transferring; no other function does. The credential is
 * the project's clone token, else the git host connection's credential for this repository. `url` is the URL that git will use:
 * another host than the project's current one gets no credential.
 */
export async function remoteOf(
  project: ProjectRow,
  deps: ProjectsDeps,
  url: string | null = remoteUrl(project, hostUrlsOf(deps.settings)),
  abort?: AbortSignal,
): Promise<GitRemote> {
  if (!url) throw new GitError('The URL of the git host is unknown. Set gitUrl.')
  const credential = await credentialOf(project, deps, url, abort)
  return { url, ...(credential ? { credential } : {}) }
}

/**
 * Calls git at the remote. If the git host rejects the connection's credential, it may have been revoked: the connection is
 * notified, and one retry uses a new credential.
 */
export async function readRemote<Result>(
  project: ProjectRow,
  deps: ProjectsDeps,
  request: (remote: GitRemote) => Promise<Result>,
  { url, abort }: { url?: string; abort?: AbortSignal } = {},
): Promise<Result> {
  const remote = await remoteOf(project, deps, url, abort)
  try {
    return await request(remote)
  } catch (error) {
    const { gitHost } = deps.projectPorts
    const refusedToken = project.cloneToken === null ? remote.credential?.token : undefined
    const repository = repositoryOf(remote.url)
    if (!(error instanceof GitAuthFailed) || !refusedToken || !gitHost || !repository) throw error
    await gitHost.credentialRefused(project.organizationId, { ...repositoryRef(project, deps), ...repository }, refusedToken)
    const retryRemote = await remoteOf(project, deps, url, abort)
    if (!retryRemote.credential || retryRemote.credential.token.reveal() === refusedToken.reveal()) throw error
    return request(retryRemote)
  }
}

async function credentialOf(project: ProjectRow, deps: ProjectsDeps, url: string, abort?: AbortSignal) {
  const projectRepository = repositoryRef(project, deps)
  if (!projectRepository.url || !isSameHost(projectRepository.url, url)) return undefined
  const token = openCloneToken(project, deps)
  if (token) return { token }
  const repository = repositoryOf(url)
  if (!repository || !deps.projectPorts.gitHost) return undefined
  if (!(await mayReadRepository(repository, repositoryOf(projectRepository.url), project.organizationId, deps))) return undefined
  const limit = AbortSignal.timeout(abort ? credentialTimeoutMs.job : credentialTimeoutMs.user)
  try {
    const credential = await deps.projectPorts.gitHost.credentialFor(
      project.organizationId,
      // Another repository at the same host is requested by its own name.
      { ...projectRepository, ...repository, url },
      abort ? AbortSignal.any([abort, limit]) : limit,
    )
    return credential && { token: credential.token, ...(credential.username ? { username: credential.username } : {}) }
  } catch (error) {
    abort?.throwIfAborted()
    if (error instanceof GitHostError) throw new GitError(error.message)
    if (limit.aborted) throw new GitError('Getting credentials from the git host timed out. Try again in a moment.')
    throw error
  }
}
