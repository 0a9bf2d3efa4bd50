import type { Caller } from '../../../http/handler.ts'
import { fail } from '../../../platform/failure.ts'
import type { ProjectsDeps } from '../deps.ts'
import { hostUrlsOf, type RepositoryName, repositoryOf } from '../git-remote.ts'
import { noSource, remoteUrl, type SourceRow, sourceKind } from '../source.ts'

/** Providers whose repositories are read with the organisation's connection. */
const hosts: ReadonlySet<string | null> = new Set(['github', 'gitlab', 'gitea'])

export type RefuseHidden = (requested: Partial<SourceRow>, current: SourceRow | null) => void

/**
 * Refuses to point a member's project at a repository that members may not use: the organisation's connection would read it for
 * them. An existing project keeps its repository when a member changes other settings.
 */
export async function hiddenFrom(
  caller: Pick<Caller, 'role' | 'organizationId'>,
  { projectPorts: { gitHost }, settings }: Pick<ProjectsDeps, 'projectPorts' | 'settings'>,
): Promise<RefuseHidden> {
  const isVisible = await gitHost?.visibleTo(caller)
  const urlOf = (row: SourceRow) => remoteUrl(row, hostUrlsOf(settings))
  return (changes, current) => {
    const requested: SourceRow = { ...(current ?? noSource), ...changes }
    if (!isVisible || sourceKind(requested) !== 'git' || !hosts.has(requested.gitProvider)) return
    const url = urlOf(requested)
    if (current?.gitProvider === requested.gitProvider && urlOf(current) === url) return
    const { gitOwner: owner, gitRepo: repo } = requested
    const names = [url ? repositoryOf(url) : null, owner && repo ? { owner, repo } : null]
    for (const name of names)
      if (name && !isVisible(name.owner, name.repo))
        fail('not_found', {
          message: `No connected git account has access to ${name.owner}/${name.repo}. Check the name, or connect another account.`,
          field: 'gitRepo',
        })
  }
}

/**
 * Whether the organisation's credential may open a repository that the project's repository names as a submodule. Every user who
 * can push to the project's repository can choose that name. If members may use it, they must be allowed to use the submodule too.
 */
export async function mayReadRepository(
  requested: RepositoryName,
  projectRepository: RepositoryName | null,
  organizationId: string,
  { projectPorts: { gitHost } }: Pick<ProjectsDeps, 'projectPorts'>,
): Promise<boolean> {
  const key = ({ owner, repo }: RepositoryName) => `${owner}/${repo}`.toLowerCase()
  if (!gitHost || !projectRepository || key(projectRepository) === key(requested)) return true
  const isVisibleToMembers = await gitHost.visibleTo({ role: 'member', organizationId })
  return (
    isVisibleToMembers(requested.owner, requested.repo) || !isVisibleToMembers(projectRepository.owner, projectRepository.repo)
  )
}
