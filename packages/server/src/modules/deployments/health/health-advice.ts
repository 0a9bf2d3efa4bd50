import type { HealthCheck } from '@berth/contract'
import type { ListeningAt } from './listening-inside.ts'

/** State of an instance that was not healthy in time. */
export interface UnhealthyInstance {
  port: number | null
  /** HTTP status of the last response; null when there was none. */
  status: number | null
  check: HealthCheck | null
  /** Sockets that listen inside the container; null when unknown. */
  listening: readonly ListeningAt[] | null
}

/** Where a user sets the fields of the health check. */
export const settingsPlace = 'in berth.json or in the dashboard under Settings, Health check'

/** A sentence of advice for the user; '' where the response already explains the failure. */
export function adviceFor({ port, status, check, listening }: UnhealthyInstance): string {
  if (status !== null)
    return check?.path
      ? ''
      : `Set healthCheck.path to a path that responds with 2xx (--health-path), or healthCheck.acceptErrors to true, ${settingsPlace}`
  const listener = listening?.find((one) => one.port === port)
  if (listener?.isLoopback)
    return `It listens on 127.0.0.1:${port} inside its container, which is not reachable. Let it listen on 0.0.0.0`
  if (!listener && listening?.length) return wrongPortAdvice(port, listening)
  return `If it needs longer to start, set healthCheck.timeoutSeconds ${settingsPlace}`
}

function wrongPortAdvice(port: number | null, listening: readonly ListeningAt[]): string {
  const others = listening.slice(0, 5).map((one) => (one.isLoopback ? `127.0.0.1:${one.port}` : `${one.port}`))
  const reachable = listening.find(({ isLoopback }) => !isLoopback)
  const advice = reachable ? `set the port to ${reachable.port}, or let it listen on $PORT` : 'let it listen on 0.0.0.0 and $PORT'
  return `It listens on ${others.join(', ')}, not on ${port}: ${advice}`
}
