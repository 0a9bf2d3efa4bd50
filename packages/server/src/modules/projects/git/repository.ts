import type { contract } from '@berth/contract'
import { sameCommit } from '../../../drivers/git/commit-id.ts'
import { GitAuthFailed, GitError, GitNotFound } from '../../../drivers/git/git-errors.ts'
import { ProgramMissing } from '../../../drivers/shell/command-errors.ts'
import type { Caller, Handlers } from '../../../http/handler.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import type { ProjectsDeps } from '../deps.ts'
import { hostUrlsOf } from '../git-remote.ts'
import { updateProjectWebhook } from '../hostnames/delivery-address.ts'
import { changeProject } from '../operations/change-project.ts'
import { changesGitHost, remoteUrl, sourceColumns, sourceKind } from '../source.ts'
import { noCloneToken } from './clone-token.ts'
import { hiddenFrom } from './hidden-repositories.ts'
import { readRemote, repositoryRef } from './project-remote.ts'

type Rows = Handlers<typeof contract.projects>
type ResponseData<Row extends keyof Rows> = Awaited<ReturnType<Rows[Row]>> extends { data: infer Data } ? Data : never
export type LinkedRepository = ResponseData<'getGit'>
export type CommitStatus = ResponseData<'commitStatus'>
export type ProjectBranch = ResponseData<'listBranches'>[number]

/** A user waits for the response. */
const limits = { timeoutMs: 20_000 }
const shownCommits = 10

/** The linked repository; the newest commits are left out when the remote does not respond. */
export async function showRepository(project: ProjectRow, deps: ProjectsDeps): Promise<LinkedRepository> {
  refuseUnlinked(project)
  const { gitProvider, gitOwner, gitRepo, gitBranch, autoDeploy } = project
  const noWebhook = { active: false, url: null, lastDeliveryAt: null, problem: null }
  const [webhook, recentCommits, branch] = await Promise.all([
    deps.projectPorts.gitHost?.webhookOf(project.organizationId, repositoryRef(project, deps)) ?? noWebhook,
    readRemote(project, deps, (remote) => deps.git.recentCommits(remote, gitBranch ?? undefined, shownCommits, limits)).catch(
      fallbackIfUnreachable(project, deps, []),
    ),
    gitBranch ?? defaultBranchOf(project, deps).catch(fallbackIfUnreachable(project, deps, null)),
  ])
  return {
    provider: gitProvider,
    owner: gitOwner,
    repo: gitRepo,
    branch,
    url: remoteUrl(project, hostUrlsOf(deps.settings)),
    autoDeploy: autoDeploy === 1,
    webhook,
    recentCommits,
  }
}

/** The branch that a project without one deploys; null where the remote names none. */
const defaultBranchOf = async (project: ProjectRow, deps: ProjectsDeps): Promise<string | null> =>
  (await readRemote(project, deps, (remote) => deps.git.listRefs(remote, limits))).defaultBranch

/** An unreachable remote does not count as "behind": `upToDate` is then null and `reason` says why. */
export async function commitStatus(project: ProjectRow, deps: ProjectsDeps): Promise<CommitStatus> {
  refuseUnlinked(project)
  const summaries = await deps.projectPorts.deployments?.summaries([project.id])
  const deployedCommit = summaries?.get(project.id)?.live?.commit ?? null
  const { commit: remoteCommit, branch, reason } = await headOf(project, deps)
  if (remoteCommit === null) return { deployedCommit, remoteCommit, branch, upToDate: null, behindBy: null, reason }
  const upToDate = sameCommit(deployedCommit, remoteCommit)
  const behindBy = upToDate ? 0 : await countBehind(project, deployedCommit, remoteCommit, deps)
  return { deployedCommit, remoteCommit, branch, upToDate, behindBy }
}

/** The deploy branch at the remote and its newest commit, or the reason why the commit is unknown. */
async function headOf(project: ProjectRow, deps: ProjectsDeps): Promise<KnownHead | UnknownHead> {
  const { gitBranch } = project
  try {
    const { branch, commit } = await readRemote(project, deps, async (remote) => {
      if (gitBranch !== null) return { branch: gitBranch, commit: await deps.git.remoteHead(remote, gitBranch, limits) }
      const { defaultBranch, heads } = await deps.git.listRefs(remote, limits)
      const head = heads.find(({ name }) => name === defaultBranch)
      return { branch: defaultBranch, commit: head?.commit ?? (await deps.git.remoteHead(remote, undefined, limits)) }
    })
    if (commit !== null) return { branch, commit }
    return { branch, commit, reason: gitBranch ? `The remote has no branch ${gitBranch}` : 'The remote has no commits' }
  } catch (error) {
    return { branch: gitBranch, commit: null, reason: fallbackIfUnreachable(project, deps, (error as Error).message)(error) }
  }
}

interface KnownHead {
  branch: string | null
  commit: string
  reason?: undefined
}

interface UnknownHead {
  branch: string | null
  commit: null
  reason: string
}

async function countBehind(project: ProjectRow, deployed: string | null, remote: string | null, deps: ProjectsDeps) {
  if (!deployed || !remote) return null
  return readRemote(project, deps, (at) => deps.git.commitsBetween(at, deployed, remote, limits)).catch(
    fallbackIfUnreachable(project, deps, null),
  )
}

export async function listBranches(project: ProjectRow, deps: ProjectsDeps): Promise<ProjectBranch[]> {
  refuseUnlinked(project)
  const { gitHost } = deps.projectPorts
  const [{ heads, defaultBranch }, isProtected] = await Promise.all([
    readRemote(project, deps, (remote) => deps.git.listRefs(remote, limits)).catch(failUnreachable),
    gitHost?.protectedBranches(project.organizationId, repositoryRef(project, deps)),
  ])
  return heads.map(({ name, commit }) => ({
    name,
    commit,
    protected: isProtected?.has(name) ?? false,
    default: name === defaultBranch,
  }))
}

export interface GitLink {
  owner: string
  repo: string
  branch?: string | null
}

/**
 * Links a repository after the remote has confirmed that the repository and the branch exist, and which branch is the default;
 * nothing changes before that.
 */
export async function linkRepository(
  project: ProjectRow,
  link: GitLink,
  caller: Caller,
  deps: ProjectsDeps,
): Promise<ProjectRow> {
  const refuseHidden = await hiddenFrom(caller, deps)
  const columns = (current: ProjectRow) => {
    const changes = linkColumns(current, link, deps)
    refuseHidden(changes, current)
    return changes
  }
  const linkedProject: ProjectRow = { ...project, ...(columns(project) as Partial<ProjectRow>) }
  const branch = await resolveBranch(linkedProject, link, deps)
  return changeProject(project, deps, async (current, { enqueue }) => {
    const changes = columns(current)
    if (current.webhookDomain !== null) for (const one of [current, linkedProject]) await updateProjectWebhook(one, { enqueue })
    return { ...changes, gitBranch: branch }
  })
}

async function resolveBranch(
  linkedProject: ProjectRow,
  { owner, repo, branch }: GitLink,
  deps: ProjectsDeps,
): Promise<string | null> {
  const { heads, defaultBranch } = await readRemote(linkedProject, deps, (remote) => deps.git.listRefs(remote, limits)).catch(
    (error: unknown) => {
      if (isRepositoryMissing(error)) refuse('repo', error.message)
      return failUnreachable(error)
    },
  )
  if (branch && !heads.some(({ name }) => name === branch)) refuse('branch', `${owner}/${repo} has no branch ${branch}`)
  return branch ?? defaultBranch
}

/** Hosts respond the same for a repository that does not exist and for one that the credential may not read. */
const isRepositoryMissing = (error: unknown): error is Error =>
  error instanceof GitAuthFailed || (error instanceof GitNotFound && error.what === 'repository')

/** Git hosts treat `Acme/Shop` and `acme/shop` as equal: the stored spelling is kept. */
function linkColumns(current: ProjectRow, { owner, repo }: GitLink, { settings }: ProjectsDeps) {
  const isSame =
    sourceKind(current) === 'git' &&
    current.gitOwner?.toLowerCase() === owner.toLowerCase() &&
    current.gitRepo?.toLowerCase() === repo.toLowerCase()
  if (isSame) return {}
  const columns = sourceColumns({ gitOwner: owner, gitRepo: repo }, current, hostUrlsOf(settings))
  return { ...columns, ...(changesGitHost(current, columns, hostUrlsOf(settings)) ? noCloneToken : {}) }
}

export function refuseUnlinked(project: ProjectRow): void {
  if (sourceKind(project) !== 'git') fail('not_found', { message: 'No repository is linked to this project. Link one first.' })
}

const isUnreachable = (error: unknown): error is Error => error instanceof GitError || error instanceof ProgramMissing

function failUnreachable(error: unknown): never {
  if (isUnreachable(error)) fail('remote_unreachable', { message: error.message, cause: error })
  throw error
}

const fallbackIfUnreachable =
  <Value>({ id }: ProjectRow, { log }: ProjectsDeps, value: Value) =>
  (error: unknown): Value => {
    if (!isUnreachable(error)) throw error
    log.info({ err: error, projectId: id }, 'projects: git remote unreachable')
    return value
  }
