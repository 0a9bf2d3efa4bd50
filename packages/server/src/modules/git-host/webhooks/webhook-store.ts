import type { GitHostProvider } from '@berth/contract'
import type { Insertable } from 'kysely'
import type { Db } from '../../../platform/db/schema.ts'
import type { GitWebhookRow, GitWebhooksTable } from '../../../platform/db/tables/git-host.ts'

/** Lower case, because hosts treat `Acme/Shop` and `acme/shop` as one. */
export const repositoryKey = (owner: string, repo: string): string => `${owner}/${repo}`.toLowerCase()

export const findWebhook = (db: Db, id: string): Promise<GitWebhookRow | undefined> =>
  db.selectFrom('gitWebhooks').selectAll().where('id', '=', id).executeTakeFirst()

export const findWebhookOf = (
  db: Db,
  organizationId: string,
  provider: GitHostProvider,
  repository: string,
): Promise<GitWebhookRow | undefined> =>
  db
    .selectFrom('gitWebhooks')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('provider', '=', provider)
    .where('repository', '=', repository)
    .executeTakeFirst()

/** Webhooks of all organisations on a repository. */
export const webhooksOn = (db: Db, provider: GitHostProvider, repository: string, limit: number): Promise<GitWebhookRow[]> =>
  db
    .selectFrom('gitWebhooks')
    .selectAll()
    .where('provider', '=', provider)
    .where('repository', '=', repository)
    .orderBy('createdAt')
    .limit(limit)
    .execute()

/** Stores a webhook: one per organisation and repository. A newer one replaces it. */
export async function putWebhook(db: Db, row: Insertable<GitWebhooksTable>): Promise<void> {
  const { id: _, createdAt: __, ...changed } = row
  await db
    .insertInto('gitWebhooks')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['organizationId', 'provider', 'repository']).doUpdateSet({ ...changed, id: row.id }),
    )
    .execute()
}

export const deleteWebhookRow = (db: Db, id: string) => db.deleteFrom('gitWebhooks').where('id', '=', id).execute()

/** Updates the last delivery time at most once a second: the write costs more than the rest of a delivery. */
export const recordDeliveryTimes = (db: Db, ids: readonly string[], now: number) =>
  db
    .updateTable('gitWebhooks')
    .set({ lastDeliveryAt: now })
    .where('id', 'in', ids)
    .where(({ or, eb }) => or([eb('lastDeliveryAt', 'is', null), eb('lastDeliveryAt', '<', now - 1000)]))
    .execute()
