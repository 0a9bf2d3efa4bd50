import type { TestInstance } from './instance.ts'

/** Everything that is stored but the audit log, the times of use of tokens, and counted attempts, sorted by its text. */
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
