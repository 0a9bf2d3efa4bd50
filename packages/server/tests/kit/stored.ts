import type { TestInstance } from './instance.ts'

/**
 * Returns all stored rows as sorted texts, to compare the database before and after a call. Left out: the audit log, times of last
 * use, and counted attempts of two-factor codes.
 */
export async function storedIn({ database: { db } }: Pick<TestInstance, 'database'>): Promise<string[]> {
  const found: string[] = []
  for (const { name } of await db.introspection.getTables()) {
    if (name.startsWith('auditLog')) continue
    const rows = await db
      .selectFrom(name as 'tokens')
      .selectAll()
      .execute()
    const uncompared = { lastUsedAt: null, ...(name === 'totpFactors' ? { attempts: null, attemptsSince: null } : {}) }
    for (const row of rows) found.push(`${name} ${JSON.stringify({ ...row, ...uncompared })}`)
  }
  return found.toSorted()
}
