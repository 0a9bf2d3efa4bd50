import type { InstanceBackupRow } from '../../../platform/db/tables/backups.ts'
import { type Job, job } from '../../../platform/jobs/declare.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { findDestination } from '../destinations/destination-store.ts'
import { openStore } from '../destinations/open-store.ts'
import { BackupFailed, failureOf, internalText } from '../failures.ts'
import { instanceBackup, instanceBackupDue } from './instance-backup-kinds.ts'
import {
  findInstanceBackup,
  findInstancePolicy,
  findUnfinishedInstanceBackup,
  instanceBackupsBeyond,
  removeInstanceBackup,
  updateInstanceBackup,
} from './instance-backup-store.ts'
import { objectNameOf, queueInstanceBackup } from './start-instance-backup.ts'

const hours = 3_600_000
const storeIntervalMs = 2_000
/** Records of failed backups that are kept. */
const maxFailed = 20

/** Starts one backup, also for several times that passed while the instance was down. */
export const instanceBackupDueJob = (deps: BackupsDeps): Job<Record<string, never>, unknown> =>
  job(instanceBackupDue.kind, {
    deadlineMs: 60_000,
    run: () =>
      deps.database.transaction(async (transaction) => {
        const { db, lock } = transaction
        await lock(instanceBackupDue.kind)
        const policy = await findInstancePolicy(db)
        if (!policy || (await findUnfinishedInstanceBackup(db))) return
        const { organizationId, destinationId, content } = policy
        await queueInstanceBackup({ organizationId, destinationId, content, trigger: 'schedule' }, transaction, deps)
      }),
  })

/**
 * Creates, stores, reads back and compares the backup. A repeated attempt gets a new name: an instance that was restored from this
 * backup finds it unfinished in its database, and must not replace it.
 */
export const instanceBackupJob = (deps: BackupsDeps): Job<{ backupId: string }, unknown> =>
  job(instanceBackup.kind, {
    deadlineMs: 12 * hours,
    maxAttempts: 3,
    async run({ backupId }, _, abort) {
      const backup = await findInstanceBackup(deps.database.db, backupId)
      if (!backup || backup.status === 'succeeded' || backup.status === 'failed') return
      try {
        await perform(backup, deps, abort)
      } catch (error) {
        abort.throwIfAborted()
        const failure = failureOf(error)
        if (!failure) throw error
        await end(backup, failure, deps)
      }
    },
    async onFailed({ backupId }, { message }) {
      deps.log.error({ backupId, message }, 'backups: instance backup failed, all attempts used up')
      const backup = await findInstanceBackup(deps.database.db, backupId)
      if (backup) await end(backup, { code: 'internal', message: internalText }, deps)
    },
  })

async function perform(backup: InstanceBackupRow, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  const { db } = deps.database
  const destination = backup.destinationId === null ? undefined : await findDestination(db, backup.destinationId)
  if (!destination) throw new BackupFailed('destination_missing', 'The destination of this backup was deleted')
  const startedAt = nowOf(deps)
  const objectName = backup.startedAt === null ? backup.objectName : objectNameOf(backup.id, startedAt)
  await updateInstanceBackup(db, backup.id, { status: 'running', objectName, startedAt, bytesDone: 0 })
  const store = await openStore(destination, deps, abort)
  try {
    const archive = await deps.instanceArchive.open(backup.content, abort)
    let sizeBytes: number
    try {
      const content = withProgress(archive.read(), (bytesDone) => updateInstanceBackup(db, backup.id, { bytesDone }))
      sizeBytes = (await store.put(objectName, content, abort)).sizeBytes
      await archive.compare(store.get(objectName, abort))
    } finally {
      await archive.close()
    }
    const succeeded = { status: 'succeeded', bytesDone: sizeBytes, sizeBytes, finishedAt: nowOf(deps) } as const
    await updateInstanceBackup(db, backup.id, succeeded)
  } finally {
    await store.close()
  }
  await removeOld(backup.id, deps, abort).catch((err: unknown) =>
    deps.log.warn({ err }, 'backups: old instance backups not removed yet'),
  )
}

/** Reports how many bytes have been read, every few seconds. */
async function* withProgress(
  content: AsyncIterable<Uint8Array>,
  report: (bytes: number) => Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  let reportedAt = performance.now()
  for await (const chunk of content) {
    bytes += chunk.length
    if (performance.now() - reportedAt > storeIntervalMs) {
      reportedAt = performance.now()
      await report(bytes)
    }
    yield chunk
  }
}

/**
 * Removes the backups that the schedule's retention does not keep: first the object, then the record, so that a kill orphans no
 * object. The newest backup always stays: if the clock was set back, it is not the newest by its time.
 */
async function removeOld(newestId: string, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  const { db } = deps.database
  for (const { id } of await instanceBackupsBeyond(db, 'failed', maxFailed)) await removeInstanceBackup(db, id)
  const policy = await findInstancePolicy(db)
  if (!policy) return
  const old = await instanceBackupsBeyond(db, 'succeeded', policy.retainCount)
  for (const backup of old.filter(({ id }) => id !== newestId)) {
    const destination = backup.destinationId === null ? undefined : await findDestination(db, backup.destinationId)
    if (destination) {
      const store = await openStore(destination, deps, abort)
      await store.remove(backup.objectName, abort).finally(() => store.close())
    }
    await removeInstanceBackup(db, backup.id)
  }
}

/** Ends the backup as failed, with a notification to operators. */
const end = (
  { id, organizationId, objectName }: InstanceBackupRow,
  { code, message }: { code: string; message: string },
  deps: BackupsDeps,
): Promise<void> =>
  deps.database.transaction(async ({ db, announce }) => {
    const failed = { status: 'failed', errorCode: code, errorMessage: message, finishedAt: nowOf(deps) } as const
    await updateInstanceBackup(db, id, failed)
    await announce('instance.backup_failed', {
      organizationId,
      projectId: null,
      subject: 'The backup of the instance failed',
      text: `The backup ${objectName} of the instance failed: ${message}`,
      data: { backupId: id },
    })
  })
