import { type Job, job } from '../../../platform/jobs/declare.ts'
import type { NotificationsDeps } from '../deps.ts'
import { backupNotices } from './backups.ts'
import { certificateNotices } from './certificates.ts'
import { machineNotices } from './machine.ts'
import { announceNew, type Notice } from './once.ts'
import { watchServers } from './servers.ts'
import { tokenNotices } from './tokens.ts'

/** A job with its interval in seconds. */
export interface Watcher {
  job: Job<Record<string, never>, undefined>
  everySeconds: number
}

/** The watchers whose source is present. */
export function watchers({ watched, database, clock }: NotificationsDeps): Watcher[] {
  const { tokens, certificates, backups, servers, machine } = watched
  const now = () => clock.now()
  const notices = (name: string, everySeconds: number, find: (now: Date) => Promise<Notice[]>): Watcher =>
    watcher(name, everySeconds, async () => announceNew(database, await find(now())))
  return [
    ...(tokens ? [notices('tokens', 3600, (at) => tokenNotices(tokens, at))] : []),
    ...(certificates ? [notices('certificates', 3600, (at) => certificateNotices(certificates, at))] : []),
    ...(backups ? [notices('backups', 300, (at) => backupNotices(backups, at))] : []),
    ...(machine ? [notices('machine', 60, machineNotices(machine))] : []),
    ...(servers ? [watcher('servers', 60, (abort) => watchServers(servers, database, now(), abort))] : []),
  ]
}

/** A watcher job with few attempts: the next run checks again anyway. */
function watcher(name: string, everySeconds: number, check: (abort: AbortSignal) => Promise<void>): Watcher {
  const watching = job<Record<string, never>, undefined>(`notifications.watch-${name}`, {
    deadlineMs: 10 * 60_000,
    maxAttempts: 2,
    run: (_payload, _deps, abort) => check(abort),
  })
  return { job: watching, everySeconds }
}
