import type { Runtimes } from '../../drivers/runtime/runtimes.ts'
import type { Database } from '../../platform/database.ts'
import type { AdoptedContainerRow } from '../../platform/db/tables/migration.ts'
import type { PredecessorContainers } from '../deployments/index.ts'
import { listAdopted, transitionAdopted } from './store.ts'

const graceSeconds = 10

/**
 * The containers that an adopted project ran as. Each is marked before it is touched, so that whatever is killed in between is
 * taken up again: `running → stopped → handed_over`, and back to `running` when the first version did not come to serve.
 */
export function predecessorContainers({
  database: { db },
  runtimes,
}: {
  database: Database
  runtimes: Runtimes
}): PredecessorContainers {
  const foreignOn = (serverId: string) => runtimes.for(serverId).foreign

  async function stop(row: AdoptedContainerRow, state: 'stopped' | 'handed_over', abort: AbortSignal): Promise<void> {
    if (row.state === 'running') await transitionAdopted(db, row, 'stopped')
    await foreignOn(row.serverId)?.stop(row.containerId, { graceSeconds }, abort)
    if (state === 'handed_over') await transitionAdopted(db, row, 'handed_over')
  }

  return {
    async makeWay({ projectId, environment }, service, say, abort) {
      if (environment !== 'production') return
      const holders = (await listAdopted(db, projectId)).filter(
        (row) => row.service === service && row.holdsVolume && row.state !== 'handed_over',
      )
      for (const row of holders) {
        say(`Stopping the container ${row.containerName}, whose data ${service} takes over`)
        await stop(row, 'stopped', abort)
      }
    },
    async retire({ projectId, environment }, say, abort) {
      if (environment !== 'production') return
      for (const row of await listAdopted(db, projectId)) {
        if (row.state === 'handed_over') continue
        if (row.state === 'running') say(`Stopping the container ${row.containerName}, which the project has replaced`)
        await stop(row, 'handed_over', abort)
      }
    },
    async giveBack({ projectId, environment }, abort) {
      if (environment !== 'production') return
      for (const row of await listAdopted(db, projectId)) {
        if (row.state !== 'stopped') continue
        await foreignOn(row.serverId)?.start(row.containerId, { restart: row.restart }, abort)
        await transitionAdopted(db, row, 'running')
      }
    },
  }
}
