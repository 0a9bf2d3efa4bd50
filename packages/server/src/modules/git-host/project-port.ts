import type { GitHostProvider } from '@berth/contract'
import type { PullRequestDelivery } from '../../drivers/git-host/delivery.ts'
import type { CommitStatus, RepositoryToken } from '../../drivers/git-host/git-host.ts'
import { GitHostError } from '../../drivers/git-host/git-host-error.ts'
import type { RepositoryName } from '../../drivers/git-host/repository-name.ts'
import { isoOrNull } from '../../platform/db/columns.ts'
import type { GitConnectionRow, GitWebhookRow } from '../../platform/db/tables/git-host.ts'
import { Failure } from '../../platform/failure.ts'
import type { Secret } from '../../platform/secrets/secret.ts'
import { withApiFailures } from './api-failures.ts'
import { unreachableHook } from './applications/hook-reach.ts'
import { organizationsWith } from './connections/connection-store.ts'
import { sourcesFor, type ThroughSource, throughSource, throughSources, usableSources } from './connections/through-sources.ts'
import type { GitHostDeps } from './deps.ts'
import { hostTitles, isGitHostProvider } from './hosts/host-titles.ts'
import { createHookStates, type HookState } from './webhooks/hook-states.ts'
import { findWebhookOf, repositoryKey } from './webhooks/webhook-store.ts'
import { deleteWebhook, isWorking, registerWebhook } from './webhooks/webhooks.ts'

/** A project's repository. On an unknown host there is no connection, and every query returns nothing. */
export interface RepositoryRef {
  provider: string | null
  owner: string | null
  repo: string | null
  /** The remote URL for git. */
  url?: string | null
}

interface KnownRepository {
  provider: GitHostProvider
  name: RepositoryName
  rows: GitConnectionRow[]
}

async function findRepository(
  organizationId: string,
  { provider, owner, repo }: RepositoryRef,
  deps: GitHostDeps,
): Promise<KnownRepository | null> {
  if (!isGitHostProvider(provider) || !owner || !repo) return null
  await deps.live.refresh()
  const rows = sourcesFor(await usableSources(organizationId, provider, deps), owner)
  return { provider, name: { owner, repo }, rows }
}

const through = async (
  organizationId: string,
  repository: RepositoryRef,
  deps: GitHostDeps,
  work: (...args: [RepositoryName, ...Parameters<ThroughSource<void>>]) => Promise<void>,
) => {
  const found = await findRepository(organizationId, repository, deps)
  if (found && found.rows.length > 0)
    await throughSources(found.rows, deps, (access, host, row) => work(found.name, access, host, row))
}

/**
 * Minimum remaining validity of a reused token, so that a clone can still finish. Tokens for one repository live at most an hour.
 */
const minValidityMs = 20 * 60_000
const maxTokens = 500

/** Repository operations for the modules above. */
export function createProjectPort(deps: GitHostDeps) {
  const tokens = new Map<string, RepositoryToken>()
  const tokenFor =
    (name: RepositoryName, abort?: AbortSignal): ThroughSource<RepositoryToken> =>
    async (access, host, row) => {
      const key = `${access.id} ${repositoryKey(name.owner, name.repo)}`
      const cachedToken = tokens.get(key)
      if (cachedToken?.expiresAt && cachedToken.expiresAt.getTime() - deps.clock.now().getTime() > minValidityMs)
        return cachedToken
      const token = await host.repositoryToken(access, name, abort && { abort })
      deps.scrubber.register(token.token)
      if (row.source === 'app') tokens.set(key, token)
      for (const oldest of tokens.keys()) {
        if (tokens.size <= maxTokens) break
        tokens.delete(oldest)
      }
      return token
    }
  const hookState = createHookStates(deps)
  const readHook = async (
    organizationId: string,
    { hookId, url }: GitWebhookRow,
    repository: RepositoryRef,
  ): Promise<HookState> => {
    let state: HookState = { isActive: false, failure: null }
    await through(organizationId, repository, deps, async (name, access, host) => {
      const hooks = await host.hooks(access, name, { timeoutMs: 4_000 })
      const own = hooks.find(({ id }) => id === hookId)
      if (own) state = { isActive: isWorking(own, url), failure: own.failure }
    })
    return state
  }
  /** Whether the app's own webhook covers the repository: it reports every repository that it is installed on. */
  const isReportedByApp = async (organizationId: string, { provider, owner }: RepositoryRef): Promise<boolean> => {
    if (!isGitHostProvider(provider) || owner === null) return false
    await deps.live.refresh()
    if (deps.webhookSecrets[provider] === null) return false
    return (await organizationsWith(deps.database.db, provider, owner)).includes(organizationId)
  }
  /** Why the host cannot deliver to the address of the webhook, or to the one that a webhook would get. */
  const hookProblem = async (organizationId: string, { provider, owner, repo }: RepositoryRef, row?: GitWebhookRow) => {
    if (!isGitHostProvider(provider) || !owner || !repo) return null
    const address = row?.url ?? (await deps.hookAddress?.(organizationId, { provider, owner, repo })) ?? deps.publicUrl()
    return unreachableHook(hostTitles[provider], deps.hosts[provider].webUrl, address)
  }
  const register = async (organizationId: string, repository: RepositoryRef) => {
    const found = await findRepository(organizationId, repository, deps)
    const registered = throughSources(found?.rows ?? [], deps, (access, host, { provider }) =>
      registerWebhook({ organizationId, provider, name: found!.name, access, host }, deps),
    )
    const { webhook, isNew } = await withApiFailures(registered)
    return { ...webhook, created: isNew }
  }
  return {
    async credentialFor(
      organizationId: string,
      repository: RepositoryRef,
      abort?: AbortSignal,
    ): Promise<RepositoryToken | undefined> {
      const found = await findRepository(organizationId, repository, deps)
      if (!found || !isAtHost(repository.url, deps.hosts[found.provider].webUrl) || found.rows.length === 0) return undefined
      return throughSources(found.rows, deps, tokenFor(found.name, abort)).catch((error: unknown) => {
        if (error instanceof GitHostError && givesNone.has(error.errorKind)) return undefined
        throw error
      })
    },
    async credentialRefused(organizationId: string, repository: RepositoryRef, token: Secret): Promise<void> {
      for (const [key, cachedToken] of tokens) if (isSame(cachedToken.token, token)) tokens.delete(key)
      const found = await findRepository(organizationId, repository, deps)
      for (const row of found?.rows ?? []) if (row.source !== 'app') await verify(row, token, deps)
    },
    async protectedBranches(organizationId: string, repository: RepositoryRef): Promise<ReadonlySet<string>> {
      const names = new Set<string>()
      await through(organizationId, repository, deps, async (name, access, host) => {
        for (const branch of await host.branches(access, name, { timeoutMs: 5_000 })) if (branch.protected) names.add(branch.name)
      }).catch((error: unknown) => deps.log.info({ err: error }, 'git-host: protected branches unknown'))
      return names
    },
    async webhookOf(organizationId: string, { provider, owner, repo }: RepositoryRef) {
      const row =
        isGitHostProvider(provider) && owner && repo
          ? await findWebhookOf(deps.database.db, organizationId, provider, repositoryKey(owner, repo))
          : undefined
      const state = row && (await hookState(row, () => readHook(organizationId, row, { provider, owner, repo })))
      return {
        problem: (await hookProblem(organizationId, { provider, owner, repo }, row)) ?? state?.failure ?? null,
        active: state?.isActive || (await isReportedByApp(organizationId, { provider, owner, repo })),
        url: row?.url ?? null,
        lastDeliveryAt: isoOrNull(row?.lastDeliveryAt ?? null),
      }
    },
    async ensureWebhook(organizationId: string, repository: RepositoryRef): Promise<void> {
      if (!(await isReportedByApp(organizationId, repository))) await register(organizationId, repository)
    },
    registerWebhook: register,
    /** Removes the organisation's hook from the repository, where it has one. */
    async removeWebhook(organizationId: string, repository: RepositoryRef): Promise<void> {
      const found = await findRepository(organizationId, repository, deps)
      if (!found) return
      const { provider, name } = found
      const webhook = await findWebhookOf(deps.database.db, organizationId, provider, repositoryKey(name.owner, name.repo))
      if (!webhook) return
      const removed = throughSources(found.rows, deps, (access, host) =>
        deleteWebhook({ organizationId, provider, name, access, host }, webhook.hookId, deps),
      )
      await withApiFailures(removed).catch((error: unknown) => {
        // The webhook no longer exists.
        if (!(error instanceof Failure) || error.code !== 'not_found') throw error
      })
    },
    /** Open pull requests of the repository; none without a connection to its host. */
    async openPullRequests(organizationId: string, repository: RepositoryRef): Promise<PullRequestDelivery[]> {
      let open: PullRequestDelivery[] = []
      await through(organizationId, repository, deps, async (name, access, host) => {
        open = await host.pullRequests(access, name)
      })
      return open
    },
    setCommitStatus: (organizationId: string, repository: RepositoryRef, commit: string, status: CommitStatus) =>
      through(organizationId, repository, deps, (name, access, host) => host.setCommitStatus(access, name, commit, status)),
    comment: (
      organizationId: string,
      repository: RepositoryRef,
      pullRequest: number,
      comment: { marker: string; text: string },
    ) => through(organizationId, repository, deps, (name, access, host) => host.comment(access, name, pullRequest, comment)),
  }
}

const isSame = (one: Secret, other: Secret): boolean => one.reveal() === other.reveal()

/** Git reports only that access was denied. Asks the host whether the login is still valid; if not, it is marked as revoked. */
const verify = (row: GitConnectionRow, token: Secret, deps: GitHostDeps): Promise<void> =>
  throughSource(row, deps, async (access, host) => {
    if (access.kind === 'token' && isSame(access.token, token)) await host.account(access, { timeoutMs: 5_000 })
  }).catch((error: unknown) => {
    if (!(error instanceof GitHostError)) throw error
  })

const givesNone: ReadonlySet<string> = new Set(['not_found', 'forbidden', 'unauthorized'])

/** A token is sent only to the host that issued it, over the same scheme. */
function isAtHost(url: string | null | undefined, webUrl: string): boolean {
  if (!url) return true
  const remote = URL.parse(url)
  return remote !== null && remote.origin === new URL(webUrl).origin
}
