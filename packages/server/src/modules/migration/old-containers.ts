import { Type } from 'typebox'
import type { ForeignState } from '../../drivers/runtime/runtime.ts'
import type { Runtimes } from '../../drivers/runtime/runtimes.ts'
import type { Database } from '../../platform/database.ts'
import { jsonColumn } from '../../platform/db/json-columns/json-column.ts'
import type { AdoptedContainerRow } from '../../platform/db/tables/migration.ts'
import type { OldContainers } from '../deployments/index.ts'
import { listAdopted, listUnsettled, transitionAdopted } from './store.ts'

const graceSeconds = 10

interface Parts {
  database: Database
  runtimes: Runtimes
}

/**
 * The original containers of an adopted project. The state of each is recorded before it is changed, so that an interrupted
 * takeover is resumed: `untouched → stopped → handed_over`, and back to `untouched` when the first deployment fails.
 */
export function oldContainersOf(parts: Parts): OldContainers {
  const { db } = parts.database
  return {
    async stopForTakeover({ projectId, environment }, service, report, abort) {
      if (environment !== 'production') return
      for (const row of await listAdopted(db, projectId)) {
        if (row.service !== service || !row.holdsVolume || row.state === 'handed_over') continue
        report(`Stopping the container ${row.containerName}: ${service} takes over its data`)
        await stop(row, parts, abort)
      }
    },
    async stopOldContainers({ projectId, environment }, report, abort) {
      if (environment !== 'production') return
      for (const row of await listAdopted(db, projectId)) {
        if (row.state === 'handed_over') continue
        if (row.state === 'untouched') report(`Stopping the container ${row.containerName}: the project has replaced it`)
        await stop(row, parts, abort)
        await transitionAdopted(db, row, { state: 'handed_over' })
      }
    },
    listUnsettled: () => listUnsettled(db),
    isAdopted: async (projectId, service) => (await listAdopted(db, projectId)).some((row) => row.service === service),
    async rollbackTakeover({ projectId, environment }, abort) {
      if (environment !== 'production') return
      const stopped = (await listAdopted(db, projectId)).filter(({ state }) => state === 'stopped')
      // A container that cannot be started must not prevent the others from starting.
      const results = await Promise.allSettled(stopped.map((row) => rollbackTakeover(row, parts, abort)))
      const failed = results.find((one) => one.status === 'rejected')
      if (failed) throw failed.reason
    },
  }
}

const stateBefore = jsonColumn(
  'adoptedContainers',
  'before',
  Type.Unsafe<ForeignState>(
    Type.Object({ isRunning: Type.Boolean(), restart: Type.Object({ name: Type.String(), retries: Type.Number() }) }),
  ),
  ['containerId'],
)

async function stop(row: AdoptedContainerRow, { database: { db }, runtimes }: Parts, abort: AbortSignal): Promise<void> {
  const { foreign } = runtimes.for(row.serverId)
  if (row.state === 'untouched') {
    const before = await foreign?.inspect(row.containerId, abort)
    await transitionAdopted(db, row, { state: 'stopped', before: before ? JSON.stringify(before) : null })
  }
  if (row.before !== null) await foreign?.stop(row.containerId, { graceSeconds }, abort)
}

async function rollbackTakeover(
  row: AdoptedContainerRow,
  { database: { db }, runtimes }: Parts,
  abort: AbortSignal,
): Promise<void> {
  const before = stateBefore(row)
  if (before) await runtimes.for(row.serverId).foreign?.rollbackTakeover(row.containerId, before, abort)
  await transitionAdopted(db, row, { state: 'untouched', before: null })
}
