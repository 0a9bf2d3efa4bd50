import type { ProjectPart } from '../projects/index.ts'
import type { BackupsDeps } from './deps.ts'
import { allPolicies } from './policies/policy-store.ts'
import { retire } from './policies/retire.ts'
import { cancelRestore } from './restores/apply.ts'
import * as restores from './restores/restore-store.ts'
import { cancelRun } from './runs/cancel-run.ts'
import * as runs from './runs/run-store.ts'

/** What backups leave on a project. What was saved stays: it is what brings a deleted project back. */
export const backupsPart = (deps: BackupsDeps): ProjectPart => ({
  describe: 'backups',
  async previewDeletion({ id }) {
    const { db } = deps.database
    const policies = (await allPolicies(db, id)).map((policy) => ({
      kind: 'backup policy',
      id: policy.id,
      name: policy.cronExpression ?? 'without a schedule',
      sizeBytes: null,
      kept: false,
    }))
    const saved = (await runs.allRuns(db, id))
      .filter(({ status, prunedAt }) => status === 'succeeded' && prunedAt === null)
      .map((run) => ({
        kind: 'backup run',
        id: run.id,
        name: new Date(run.createdAt).toISOString(),
        sizeBytes: run.sizeBytes,
        kept: true,
        reason: 'what was saved stays at its destination: restoring it brings the project back',
      }))
    return [...policies, ...saved]
  },
  async workUnderWay(db, projectId) {
    const running = (await runs.listUnderWay(db, projectId)).map(({ id, status }) => ({ kind: 'backup run', id, status }))
    const applying = (await restores.listUnderWay(db, projectId)).filter(({ status }) => status === 'applying')
    return [...running, ...applying.map(({ id, status }) => ({ kind: 'restore', id, status }))]
  },
  async remove({ id }) {
    const { db } = deps.database
    for (const run of await runs.listUnderWay(db, id))
      await cancelRun(run, 'The project was deleted', deps).catch(() => undefined)
    for (const restore of await restores.listUnderWay(db, id))
      await cancelRestore(restore, deps, 'The project was deleted').catch(() => undefined)
    await deps.database.transaction(async (bound) => {
      for (const policy of await allPolicies(bound.db, id)) await retire(policy, bound)
    })
  },
})
