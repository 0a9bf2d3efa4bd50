import { limits } from '@berth/contract'
import { preparedQuery } from '../../../platform/db/prepared.ts'
import type { Db } from '../../../platform/db/schema.ts'
import { refuse } from '../../../platform/failure.ts'

interface Size {
  count: number
  bytes: number
}

export function sizeOf(variables: Iterable<{ key: string; value: string }>): Size {
  const size = { count: 0, bytes: 0 }
  for (const { key, value } of variables) {
    size.count += 1
    size.bytes += key.length + Buffer.byteLength(value)
  }
  return size
}

export const fitsEnv = ({ count, bytes }: Size): boolean => count <= limits.envVariables && bytes <= limits.envBytes

/** Refuses variables of an environment above the limits. An environment that already exceeds them may shrink step by step. */
export function refuseLargeEnv(after: Size, field: string, environment: string, before: Size = { count: 0, bytes: 0 }): void {
  if (after.count > limits.envVariables && after.count > before.count)
    refuse(
      field,
      `the environment ${environment} would have ${after.count} variables, and ${limits.envVariables} are allowed. Delete some.`,
    )
  if (after.bytes > limits.envBytes && after.bytes > before.bytes)
    refuse(
      field,
      `the variables of the environment ${environment} would have ${after.bytes} bytes, and ${limits.envBytes} are allowed. Delete some, or store large values in a volume.`,
    )
}

/**
 * Limits all environments together: every secret of a project is read at once for redaction in logs. Called after the write, in
 * its transaction.
 */
export async function refuseLargeProject(db: Db, projectId: string, field: string): Promise<void> {
  const { bytes } = (await storedBytes.first(db, { projectId })) as { bytes: number | null }
  if (Number(bytes ?? 0) > limits.envStoredBytes)
    refuse(
      field,
      `the variables of all environments of the project would take ${bytes} bytes as stored, and ${limits.envStoredBytes} are allowed. Delete some, or store large values in a volume.`,
    )
}

const storedBytes = preparedQuery((db, { projectId }: { projectId: string }) =>
  db
    .selectFrom('envVariables')
    .select(({ fn }) => fn.sum<number | null>(fn<number>('length', ['envVariables.value'])).as('bytes'))
    .where('projectId', '=', projectId),
)
