import type { TransactionContext } from '../../platform/transaction.ts'
import type { CertifiedName } from './certified-name.ts'
import type { EdgeDeps } from './deps.ts'

export type Operators = Awaited<ReturnType<EdgeDeps['operators']>>

/** Announces a problem of a certificate to the organisation of its project; of a name of the instance to each operator. */
export async function announceCertificate(
  { hostname, owner }: Pick<CertifiedName, 'hostname' | 'owner'>,
  { subject, message }: { subject: string; message: string },
  operators: Operators,
  { announce }: Pick<TransactionContext, 'announce'>,
): Promise<void> {
  const data = { hostname }
  if (owner) {
    const { organizationId, projectId, title } = owner
    await announce('domain.failed', { organizationId, projectId, subject, text: `${title}: ${message}`, data })
  } else
    for (const operator of operators) await announce('instance.certificate_failed', { ...operator, subject, text: message, data })
}
