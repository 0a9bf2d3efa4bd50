import { type JobKind, job } from '../../../platform/jobs/declare.ts'
import type { Schedule } from '../../../platform/jobs/schedules.ts'
import type { BackupsDeps } from '../deps.ts'
import { countStoredByRecipient, setMissingRecipient } from './stored-run-store.ts'

/** Placeholder key of runs that do not name their key, set when that key was found to be missing. */
export const lostRecipient = 'lost'

export const howToRestoreKey =
  'Append the line of your copy of that key (AGE-SECRET-KEY-1…) to backup.key in the data folder. Without a copy of the key the backups cannot be decrypted'

type NoPayload = Record<string, never>
const checkKey: JobKind<NoPayload> = { kind: 'backups.key' }

export const keySchedule: Schedule<unknown> = {
  key: checkKey.kind,
  job: checkKey,
  payload: {},
  recurrence: { everySeconds: 86_400 },
}

/** Notifies every day that runs are unreadable: users rely on backups that cannot be restored. */
export const keyJob = (deps: BackupsDeps) =>
  job<NoPayload, unknown>(checkKey.kind, {
    deadlineMs: 60_000,
    run: async () => announceLost(await lostRuns(deps), deps),
  })

/**
 * Called at each start: logs unreadable runs, and notifies users when the key was just found to be missing. An instance without
 * backups generates no key.
 */
export const announceLostKey = (deps: BackupsDeps): Promise<void> =>
  reportLostKey(deps).catch((error: unknown) => deps.log.error({ err: error }, 'backups: key check failed'))

async function reportLostKey(deps: BackupsDeps): Promise<void> {
  const lost = await lostRuns(deps)
  if (lost.length === 0) return
  const runs = lost.reduce((sum, { count }) => sum + count, 0)
  deps.log.error(
    { runs, recipients: [...new Set(lost.map(({ recipient }) => recipient))] },
    `backups: ${lostKeyMessage(runs)} ${howToRestoreKey}`,
  )
  if ((await deps.archives()).isNewKey) await announceLost(lost, deps)
}

const lostKeyMessage = (runs: number) =>
  `${runs === 1 ? '1 stored backup' : `${runs} stored backups`} cannot be restored: the key that decrypts ${runs === 1 ? 'it' : 'them'} is missing.`

interface LostRuns {
  organizationId: string
  recipient: string
  count: number
}

async function lostRuns(deps: BackupsDeps): Promise<LostRuns[]> {
  const { db } = deps.database
  const storedByRecipient = await countStoredByRecipient(db)
  if (storedByRecipient.length === 0) return []
  const { recipient, recipients, isNewKey } = await deps.archives()
  const defaultRecipient = isNewKey ? lostRecipient : recipient
  if (storedByRecipient.some((one) => one.recipient === null)) await setMissingRecipient(db, defaultRecipient)
  const withRecipient = storedByRecipient.map((one) => ({ ...one, recipient: one.recipient ?? defaultRecipient }))
  return withRecipient.filter((one) => !recipients.includes(one.recipient))
}

async function announceLost(lost: readonly LostRuns[], { database }: BackupsDeps): Promise<void> {
  for (const [organizationId, lostOfOrganization] of Map.groupBy(lost, (one) => one.organizationId)) {
    const runs = lostOfOrganization.reduce((sum, { count }) => sum + count, 0)
    await database.transaction((transaction) =>
      transaction.announce('backup.unproven', {
        organizationId,
        projectId: null,
        subject: 'Stored backups cannot be decrypted: their key is missing',
        text: `${lostKeyMessage(runs)} ${howToRestoreKey}; a new run of each policy is then the only usable backup.`,
        data: { runs },
      }),
    )
  }
}
