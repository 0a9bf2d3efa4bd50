import type { HealthCheck } from '@berth/contract'
import type { Instance } from '../../../drivers/runtime/runtime.ts'
import type { Unit } from '../plan/deployed.ts'

/**
 * The request that failed, and where a plain process listens instead; '' where it listens on that port, or where this is unknown.
 */
export function checkedAt(
  seen: Pick<Instance, 'address' | 'listensOn'> | undefined,
  { port, exposed }: Pick<Unit, 'port' | 'exposed'>,
  check: HealthCheck | null,
  lastStatus: number | null,
): { where: string; found: string } {
  const path = check?.path ?? (exposed ? '/' : undefined)
  const question = path ? `GET ${path}` : 'a connection'
  if (lastStatus !== null) return { where: question, found: '' }
  // The port of a container is the one inside it; a plain process is probed on the port it was given.
  const { listensOn, address } = seen ?? {}
  const requested = listensOn && address ? address.port : port
  const where = `${question} on port ${requested}`
  const isRemote = listensOn?.length && !listensOn.some((one) => one.endsWith(`:${requested}`))
  if (isRemote)
    return { where, found: `It listens on ${listensOn.join(', ')}: let it listen on 0.0.0.0, on the port in the variable PORT` }
  if (listensOn?.length === 0)
    return {
      where,
      found:
        'It listens on no port: let it listen on the one in the variable PORT, or set healthCheck.timeoutSeconds if it needs longer to start',
    }
  return { where, found: '' }
}
