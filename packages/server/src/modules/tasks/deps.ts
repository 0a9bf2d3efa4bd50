import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Log } from '../../platform/log.ts'
import type { LogStore } from '../../platform/log-store/log-store.ts'
import type { TaskInstances } from '../deployments/index.ts'

export interface TasksDeps {
  database: Database
  clock: Clock
  log: Log
  logStore: LogStore
  instances: TaskInstances
  /** `maxTasks`: concurrent runs of this control plane. */
  settings: { maxTasks: number }
}

export const nowOf = ({ clock }: Pick<TasksDeps, 'clock'>): number => clock.now().getTime()
