import type { PolicyRow, RunRow } from '../../../platform/db/tables/backups.ts'
import { type Job, job, sharedKind } from '../../../platform/jobs/declare.ts'
import { findAnyProject } from '../../projects/index.ts'
import type { DumpDetails } from '../content/database-kind.ts'
import { databaseKind } from '../content/databases.ts'
import type { ManifestArtifact } from '../content/manifest.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { BackupFailed, errorText, failureOf, internalText } from '../failures.ts'
import { type SchedulePayload, trialRestore } from '../policies/policy-schedule.ts'
import { findPolicy, updatePolicy } from '../policy-store.ts'
import { groupOf } from '../runs/clean-up-kind.ts'
import { updateRun } from '../runs/run-store.ts'
import { listSuccessfulRuns } from '../runs/stored-run-store.ts'
import { diskLimitOfTrial } from './disk-bound.ts'
import { filesIn } from './file-list.ts'
import { type OpenedArchive, withArchive } from './opened-archive.ts'

const hours = 3_600_000
const trial = sharedKind<SchedulePayload>('backups.trial')

/**
 * Trial restores: a policy's newest successful run is restored into a temporary location, which proves that the backup is
 * usable.
 */
export const trialJobs = (deps: BackupsDeps): Job<SchedulePayload, unknown>[] => [
  job<SchedulePayload, unknown>(trialRestore.kind, {
    deadlineMs: 60_000,
    // Runs in the project's job group, so that nothing is pruned meanwhile.
    async run({ policyId }) {
      const policy = await findPolicy(deps.database.db, policyId)
      if (!policy?.enabled) return
      const options = { uniqueKey: `${trial.kind}:${policyId}`, groupKey: groupOf(policy.projectId) }
      await deps.database.transaction(({ enqueue }) => enqueue(trial.of(policy), { policyId }, options))
    },
  }),
  job<SchedulePayload, unknown>(trial, {
    deadlineMs: 12 * hours,
    maxAttempts: 3,
    async run({ policyId }, _, abort) {
      const policy = await findPolicy(deps.database.db, policyId)
      const [run] = policy ? await listSuccessfulRuns(deps.database.db, policyId) : []
      if (policy && run) await testRun(policy, run, deps, abort)
      else if (policy) await announceFailedTest(policy, 'There is no successful backup yet to test.', deps)
    },
    async onFailed({ policyId }, { message }) {
      deps.log.error({ policyId, message }, 'backups: trial restore failed, all attempts used up')
      const policy = await findPolicy(deps.database.db, policyId)
      if (policy) await announceFailedTest(policy, internalText, deps)
    },
  }),
]

async function testRun(policy: PolicyRow, run: RunRow, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  try {
    await withArchive(run, deps, abort, async (opened) => {
      for (const artifact of opened.manifest.artifacts) await testArtifact(artifact, opened, policy, deps, abort)
    })
  } catch (error) {
    abort.throwIfAborted()
    if (!failureOf(error)) throw error
    return announceFailedTest(policy, `The run ${run.id} could not be restored: ${errorText(error)}`, deps)
  }
  await deps.database.transaction(async ({ db }) => {
    await updateRun(db, run.id, { proven: true })
    await updatePolicy(db, policy.id, { lastProvenAt: nowOf(deps) })
  })
}

/**
 * Writes files to a temporary volume and counts them. A dump is loaded into a temporary database where its service runs;
 * otherwise it is read to its end and must be complete.
 */
async function testArtifact(
  artifact: ManifestArtifact,
  opened: OpenedArchive,
  policy: PolicyRow,
  deps: BackupsDeps,
  abort: AbortSignal,
) {
  const content = () => opened.archives.read(artifact.index, { store: opened.store, abort })
  if (artifact.kind !== 'volume') {
    const tables = await loadIntoTrial(artifact, content, policy.projectId, deps, abort)
    if (tables === undefined) await requireCompleteDump(artifact, content())
    deps.log.info({ policyId: policy.id, artifact: artifact.name, tables: tables ?? 'not loaded' }, 'backups: dump tested')
    return
  }
  const diskLimit = await diskLimitOfTrial(policy.projectId, deps)
  diskLimit.requireFits(artifact.index.plainBytes)
  const runtime = deps.data.runtimeFor(null)
  // One volume per policy: the next trial reuses the volume that a killed trial left.
  const location = { id: `vol_${policy.id.slice(4)}`, projectId: policy.projectId, name: 'trial' }
  await runtime.createVolume(location)
  try {
    await runtime.writeVolume(location.id, diskLimit.limitBytes(content()), abort)
    const [saved, written] = [await filesIn(content()), await filesIn(runtime.readVolume(location.id, abort))]
    if (saved.files?.size !== written.files?.size || saved.bytes !== written.bytes)
      throw new BackupFailed(
        'unproven',
        `${artifact.name}: ${written.files?.size} files were restored, but ${saved.files?.size} were backed up`,
      )
  } finally {
    await runtime.removeVolume(location.id)
  }
}

/** Number of loaded tables; undefined: no running server can load the dump. */
async function loadIntoTrial(
  { kind, details }: ManifestArtifact,
  content: () => AsyncIterable<Uint8Array>,
  projectId: string,
  deps: BackupsDeps,
  abort: AbortSignal,
): Promise<number | undefined> {
  const [database, dump] = [databaseKind(kind), details as DumpDetails]
  if (!database?.tryRestore || dump.database === undefined) return undefined
  const unit = (await deps.data.units(projectId)).find(({ service }) => service === dump.service)
  if (!unit?.instance || !database.recognises(unit)) return undefined
  const running = { ...unit, instance: unit.instance, runtime: deps.data.runtimeFor(unit.instance.serverId) }
  return database.tryRestore(running, dump, content(), abort)
}

const completionMarks: Partial<Record<string, RegExp>> = { postgres: /dump complete/, mysql: /Dump completed/ }

async function requireCompleteDump({ name, kind, details }: ManifestArtifact, content: AsyncIterable<Uint8Array>): Promise<void> {
  let tail = ''
  for await (const chunk of content) tail = (tail + Buffer.from(chunk.subarray(-400)).toString('latin1')).slice(-400)
  const completionMark = completionMarks[kind]
  const isGlobals = (details as { globals?: true }).globals === true
  if (completionMark && !isGlobals && !completionMark.test(tail))
    throw new BackupFailed('unproven', `${name}: the dump is incomplete`)
}

async function announceFailedTest(policy: PolicyRow, message: string, deps: BackupsDeps): Promise<void> {
  await deps.database.transaction(async ({ db, announce }) => {
    const project = await findAnyProject(db, policy.projectId)
    await announce('backup.unproven', {
      organizationId: policy.organizationId,
      projectId: policy.projectId,
      subject: `The test restore of ${project?.name ?? policy.projectId} failed`,
      text: message,
      data: { policyId: policy.id },
    })
  })
}
