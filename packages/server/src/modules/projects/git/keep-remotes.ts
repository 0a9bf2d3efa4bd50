import type { TransactionContext } from '../../../platform/transaction.ts'
import { type HostUrls, isOnHost, repositoryOf } from '../git-remote.ts'
import { type ProjectSignal, projectsTopic } from '../project-signal.ts'
import { remoteUrl } from '../source.ts'

/** A git host that gets another address. */
export interface MovedHost {
  provider: keyof HostUrls
  oldUrl: string
  newUrl: string
}

/**
 * Keeps the remotes of projects when a git host gets another address. Projects at the old address become plain git projects of that
 * address, so that neither their clone token nor a push of the new host reaches the wrong one. Plain git projects at the new address
 * become projects of the host.
 */
export async function keepRemotes(
  { provider, oldUrl, newUrl }: MovedHost,
  { db, signal }: Pick<TransactionContext, 'db' | 'signal'>,
): Promise<void> {
  const rows = await db
    .selectFrom('projects')
    .select(['id', 'gitProvider', 'gitOwner', 'gitRepo', 'gitUrl'])
    .where('gitProvider', 'in', [provider, 'git'])
    .execute()
  const urls = { github: oldUrl, gitlab: oldUrl, gitea: oldUrl }
  for (const row of rows) {
    const url = remoteUrl(row, urls)
    if (url === null) continue
    const isAtNew = isOnHost(url, newUrl)
    const gitProvider = isAtNew && repositoryOf(url) ? provider : row.gitProvider === provider ? 'git' : row.gitProvider
    if (gitProvider === row.gitProvider && row.gitUrl === url) continue
    await db.updateTable('projects').set({ gitProvider, gitUrl: url }).where('id', '=', row.id).execute()
    signal(projectsTopic, { projectId: row.id } satisfies ProjectSignal)
  }
}
