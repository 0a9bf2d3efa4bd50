import { sql } from 'kysely'
import type { Db } from '../db/schema.ts'
import type { JobOwner } from './declare.ts'

/** The value of a new row's `ownerId`. Jobs of a deleted project belong to the instance. */
export function ownerIdOf(owner: JobOwner | undefined) {
  if (!owner) return ''
  if ('organizationId' in owner) return owner.organizationId
  if ('account' in owner) return owner.account
  return sql<string>`coalesce((select "organizationId" from projects where id = ${owner.projectId}), '')`
}

/** Whether the instance has more than one organisation. */
export async function hasSeveralOrganizations(db: Db): Promise<boolean> {
  return (await db.selectFrom('organizations').select('id').limit(2).execute()).length > 1
}
