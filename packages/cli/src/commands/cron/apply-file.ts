import { type CronJob, contract, type ProjectFile } from '@berth/contract'
import type { Connection } from '../../credentials.ts'

/** Creates the tasks of `berth.json`, and changes those of the same name and environment. Other tasks stay as they are. */
export async function applyTasks(client: Connection, id: string, tasks: NonNullable<ProjectFile['cronJobs']>): Promise<void> {
  if (tasks.length === 0) return
  const { data: existing } = await client.call(contract.tasks.list, { params: { id }, query: { limit: 500 } })
  for (const task of tasks) {
    const environment = task.environment ?? 'production'
    const found = existing.find((one) => one.name === task.name && one.environment === environment)
    if (!found) await client.call(contract.tasks.create, { params: { id }, body: task })
    else if (isChanged(found, task)) await client.call(contract.tasks.update, { params: { id, cronJobId: found.id }, body: task })
  }
}

const isChanged = (existing: CronJob, wanted: object): boolean =>
  Object.entries(wanted).some(([key, value]) => JSON.stringify(existing[key as keyof CronJob]) !== JSON.stringify(value))
