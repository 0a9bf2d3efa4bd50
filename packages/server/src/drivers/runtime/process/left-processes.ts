import { setTimeout as pause } from 'node:timers/promises'
import { Paths } from './files/paths.ts'
import { endControlGroup } from './processes/cgroup.ts'
import { InstanceRecords } from './processes/instance-record.ts'
import { isAlive, killRemainingInGroup, type ProcessIdentity, signalGroup } from './processes/process-table.ts'

/** An instance that runs without a control plane. */
export interface LeftProcess {
  instanceId: string
  process: ProcessIdentity
}

const graceMs = 1_000

/** Lists the running instances of a runtime's folder, without a runtime that would take charge of them. */
export function listLeftProcesses(folder: string): LeftProcess[] {
  const records = new InstanceRecords(new Paths(folder, false)).list()
  return records.flatMap(({ instanceId, process }) => (process && isAlive(process) ? [{ instanceId, process }] : []))
}

/** Ends instances whose folder was removed. They have no files left to save. */
export async function killLeftProcesses(left: readonly LeftProcess[]): Promise<void> {
  const alive = left.filter(({ process }) => isAlive(process))
  for (const { process } of alive) signalGroup(process, 'SIGTERM')
  if (alive.length > 0) await pause(graceMs)
  for (const { instanceId, process } of alive) {
    signalGroup(process, 'SIGKILL')
    killRemainingInGroup(process)
    endControlGroup(instanceId)
  }
}
