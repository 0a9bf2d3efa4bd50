import type { GitBranch, GitHostProvider, Repository, RepositoryBody } from '@berth/contract'
import type { RepositoryName } from '../../../drivers/git-host/repository-name.ts'
import type { Caller } from '../../../http/handler.ts'
import { writeAuditRecord } from '../../../platform/db/write-record.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import { sourcesFor, type ThroughSource, throughSources, usableSources } from '../connections/through-sources.ts'
import type { GitHostDeps } from '../deps.ts'
import { checkedName } from '../names.ts'
import { noAccessAdvice, visibilityFor } from '../visibility.ts'
import { showRepository } from './lists.ts'

export interface WantedRepository {
  params: { owner: string; repo: string }
  provider: GitHostProvider | undefined
}

/** Queries the host about a repository that the caller may see, through the first connection that reaches it. */
export async function withRepository<Result>(
  { params, provider }: WantedRepository,
  caller: Caller,
  deps: GitHostDeps,
  work: (name: RepositoryName, ...through: Parameters<ThroughSource<unknown>>) => Promise<Result>,
): Promise<Result> {
  const name = checkedName(params)
  const all = await usableSources(caller.organizationId, provider, deps)
  if (all.length === 0) fail('no_source')
  await refuseHidden(name, caller, deps)
  const rows = sourcesFor(all, name.owner)
  if (rows.length === 0)
    fail('not_found', { message: `No connected git account has access to ${name.owner}/${name.repo}. ${noAccessAdvice}` })
  return throughSources(rows, deps, (access, host, row) => work(name, access, host, row))
}

export async function refuseHidden({ owner, repo }: RepositoryName, caller: Caller, deps: GitHostDeps): Promise<void> {
  const isVisible = await visibilityFor(caller, deps)
  if (!isVisible(owner, repo))
    fail('not_found', { message: `No connected git account has access to ${owner}/${repo}. ${noAccessAdvice}` })
}

export const getRepository = (
  wanted: WantedRepository,
  withBranches: boolean,
  caller: Caller,
  deps: GitHostDeps,
): Promise<Repository> =>
  withRepository(wanted, caller, deps, async (name, access, host, row) => {
    const [repository, branches] = await Promise.all([
      host.repository(access, name),
      withBranches ? host.branches(access, name) : undefined,
    ])
    return { ...showRepository(repository, row), ...(branches ? { branches } : {}) }
  })

export const listBranches = (wanted: WantedRepository, caller: Caller, deps: GitHostDeps): Promise<GitBranch[]> =>
  withRepository(wanted, caller, deps, (name, access, host) => host.branches(access, name))

export const deleteRepository = (wanted: WantedRepository, caller: Caller, deps: GitHostDeps): Promise<void> =>
  withRepository(wanted, caller, deps, async (name, access, host) => {
    await writeAuditRecord()
    await host.deleteRepository(access, name)
  })

/** Creates a repository. An app can create them only in organisations; for a user's own, the user's account is used. */
export async function createRepository(
  body: RepositoryBody,
  provider: GitHostProvider | undefined,
  caller: Caller,
  deps: GitHostDeps,
): Promise<Repository> {
  const { name, owner } = body
  const all = await usableSources(caller.organizationId, provider, deps)
  if (all.length === 0) fail('no_source')
  const creators = all.filter(
    (row) =>
      row.source !== 'app' || (row.accountType === 'organization' && row.accountLogin.toLowerCase() === owner?.toLowerCase()),
  )
  if (creators.length === 0)
    refuse(
      'owner',
      owner ? `no connected git account can create repositories for ${owner}` : 'name the organisation of the repository',
    )
  const isVisible = await visibilityFor(caller, deps)
  return throughSources(creators, deps, async (access, host, row) => {
    const isOwnAccount = !owner || owner.toLowerCase() === row.accountLogin.toLowerCase()
    const account = owner ?? row.accountLogin
    if (!isVisible(account, name))
      fail('forbidden', { message: `Members cannot use ${account}/${name}. Ask an admin of the organisation.`, field: 'owner' })
    const forUser = isOwnAccount && row.accountType === 'user'
    await writeAuditRecord()
    const repository = await host.createRepository(access, {
      name,
      private: body.private ?? true,
      owner: forUser ? null : account,
    })
    return showRepository(repository, row)
  })
}
