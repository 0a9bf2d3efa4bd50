import type { HealthCheck } from '@berth/contract'
import type { Instance } from '../../../drivers/runtime/runtime.ts'
import type { Unit } from '../plan/deployed.ts'
import { settingsPlace } from './health-advice.ts'

/**
 * The request that failed, and where a plain process listens instead; '' where it listens on that port, or where this is unknown.
 */
export function describeProbe(
  instance: Pick<Instance, 'address' | 'listensOn'> | undefined,
  { port, exposed }: Pick<Unit, 'port' | 'exposed'>,
  check: HealthCheck | null,
  lastStatus: number | null,
): { request: string; hint: string } {
  const path = check?.path ?? (exposed ? '/' : undefined)
  const probe = path ? `GET ${path}` : 'a connection'
  if (lastStatus !== null) return { request: probe, hint: '' }
  // The port of a container is the one inside it; a plain process is probed on the port it was given.
  const { listensOn, address } = instance ?? {}
  const probedPort = listensOn && address ? address.port : port
  const request = `${probe} on port ${probedPort}`
  const listensOnOtherPort = listensOn?.length && !listensOn.some((one) => one.endsWith(`:${probedPort}`))
  if (listensOnOtherPort)
    return { request, hint: `It listens on ${listensOn.join(', ')}: let it listen on 0.0.0.0, on the port in the variable PORT` }
  if (listensOn?.length === 0)
    return {
      request,
      hint: `It listens on no port: let it listen on the one in the variable PORT, or, if it needs longer to start, set healthCheck.timeoutSeconds ${settingsPlace}`,
    }
  return { request, hint: '' }
}
