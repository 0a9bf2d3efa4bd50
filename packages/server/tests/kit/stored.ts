import type { TestInstance } from './instance.ts'

/** Everything that is stored but the audit log and the times at which tokens were used, sorted by its text. */
export async function storedIn({ database: { db } }: Pick<TestInstance, 'database'>): Promise<string[]> {
  const found: string[] = []
  for (const { name } of await db.introspection.getTables()) {
    if (name.startsWith('auditLog')) continue
    const rows = await db
      .selectFrom(name as 'tokens')
      .selectAll()
      .execute()
    for (const row of rows) found.push(`${name} ${JSON.stringify({ ...row, lastUsedAt: null })}`)
  }
  return found.toSorted()
}
