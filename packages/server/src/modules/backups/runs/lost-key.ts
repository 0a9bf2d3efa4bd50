import { type JobKind, job } from '../../../platform/jobs/declare.ts'
import type { Schedule } from '../../../platform/jobs/schedules.ts'
import type { BackupsDeps } from '../deps.ts'
import { keptByRecipient, nameRecipient } from './kept-run-store.ts'

/** Key of runs from before keys were recorded, once their key was found to be missing. */
export const lostRecipient = 'lost'

export const howToBringBack =
  'Append the line of your copy of that key (AGE-SECRET-KEY-1…) to backup.key in the data folder. Without a copy of the key the backups cannot be decrypted'

type Nothing = Record<string, never>
const checkKey: JobKind<Nothing> = { kind: 'backups.key' }

export const keySchedule: Schedule<unknown> = {
  key: checkKey.kind,
  job: checkKey,
  payload: {},
  recurrence: { everySeconds: 86_400 },
}

/** Notifies every day that runs are unreadable: users rely on backups that cannot be restored. */
export const keyJob = (deps: BackupsDeps) =>
  job<Nothing, unknown>(checkKey.kind, {
    deadlineMs: 60_000,
    run: async () => announceLost(await lostRuns(deps), deps),
  })

/**
 * Called at each start: logs unreadable runs, and notifies users when the key was just found to be missing. An instance without
 * backups generates no key.
 */
export const announceLostKey = (deps: BackupsDeps): Promise<void> =>
  told(deps).catch((error: unknown) => deps.log.error({ err: error }, 'backups: key check failed'))

async function told(deps: BackupsDeps): Promise<void> {
  const lost = await lostRuns(deps)
  if (lost.length === 0) return
  const runs = lost.reduce((sum, { count }) => sum + count, 0)
  deps.log.error(
    { runs, recipients: [...new Set(lost.map(({ recipient }) => recipient))] },
    `${messageFor(runs)} ${howToBringBack}`,
  )
  if ((await deps.archives()).isNewKey) await announceLost(lost, deps)
}

const messageFor = (runs: number) =>
  `The key that opens ${runs} of the stored backups is missing: ${runs === 1 ? 'it' : 'they'} cannot be restored.`

interface LostRuns {
  organizationId: string
  recipient: string
  count: number
}

async function lostRuns(deps: BackupsDeps): Promise<LostRuns[]> {
  const { db } = deps.database
  const kept = await keptByRecipient(db)
  if (kept.length === 0) return []
  const { recipient, recipients, isNewKey } = await deps.archives()
  const unnamed = isNewKey ? lostRecipient : recipient
  if (kept.some((one) => one.recipient === null)) await nameRecipient(db, unnamed)
  const named = kept.map((one) => ({ ...one, recipient: one.recipient ?? unnamed }))
  return named.filter((one) => !recipients.includes(one.recipient))
}

async function announceLost(lost: readonly LostRuns[], { database }: BackupsDeps): Promise<void> {
  for (const [organizationId, ofIt] of Map.groupBy(lost, (one) => one.organizationId)) {
    const runs = ofIt.reduce((sum, { count }) => sum + count, 0)
    await database.transaction((bound) =>
      bound.announce('backup.unproven', {
        organizationId,
        projectId: null,
        subject: 'Stored backups cannot be decrypted: their key is missing',
        text: `${messageFor(runs)} ${howToBringBack}; a new run of each policy is then the only usable backup.`,
        data: { runs },
      }),
    )
  }
}
