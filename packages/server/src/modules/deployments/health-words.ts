import type { HealthCheck } from '@berth/contract'
import type { Instance } from '../../drivers/runtime/runtime.ts'
import type { Unit } from './plan.ts'

/** What was asked for and did not answer well, and what its owner can do about it. */
export function whereAsked(
  seen: Pick<Instance, 'address' | 'listensOn'> | undefined,
  { port, exposed }: Pick<Unit, 'port' | 'exposed'>,
  check: HealthCheck | null,
  lastStatus: number | null,
): { where: string; hint: string } {
  const path = check?.path ?? (exposed ? '/' : undefined)
  const question = path ? `GET ${path}` : 'a connection'
  if (lastStatus !== null)
    return {
      where: question,
      hint: check?.path ? '' : '. Set healthCheck.path to a page that answers, or healthCheck.acceptErrors',
    }
  // In a container the port is the one inside; a plain process is asked at the one it was given.
  const { listensOn, address } = seen ?? {}
  if (!listensOn) return { where: `${question} on port ${port}`, hint: '' }
  const where = `${question} on port ${address?.port ?? port}`
  const isThere = listensOn.some((one) => one.endsWith(`:${address?.port}`))
  if (listensOn.length === 0) return { where, hint: '. It listens on no port: let it listen on the port in the variable PORT' }
  if (isThere) return { where, hint: '' }
  return {
    where,
    hint: `. It listens on ${listensOn.join(', ')}: let it listen on 0.0.0.0, on the port in the variable PORT`,
  }
}
