import type { Machine, MachineProblem } from '@berth/contract'

export type MachineReadings = Omit<Machine, 'problems'>

const mb = 1_000_000
const gb = 1_000 * mb

/** A build needs this much disk in any case; on a large disk a tenth is more than needed. */
const minFreeBytes = (totalBytes: number) => Math.max(gb, Math.min(totalBytes / 10, 10 * gb))
const minFreeInodesShare = 0.05
const minAvailableMemory = (totalBytes: number) => Math.min(totalBytes / 10, 512 * mb)
/** Signatures of requests to S3 and one-time codes may be refused if the clock is further off. */
const maxClockOffsetSeconds = 60

/** The problems of the machine, each with its values and a remedy. */
export function machineProblems({ disk, memory, clock }: MachineReadings): MachineProblem[] {
  const problems: MachineProblem[] = []
  if (disk.freeBytes < minFreeBytes(disk.totalBytes))
    problems.push({
      kind: 'disk_low',
      message: `${sizeText(disk.freeBytes)} of ${sizeText(disk.totalBytes)} are free on the disk of the data folder.`,
      remedy: `${cleanUp}, or enlarge the disk.`,
    })
  else if (disk.totalInodes > 0 && disk.freeInodes < disk.totalInodes * minFreeInodesShare)
    problems.push({
      kind: 'disk_low',
      message: `${disk.freeInodes} of ${disk.totalInodes} inodes are free on the disk of the data folder.`,
      remedy: `${cleanUp}, or delete folders with many small files.`,
    })
  if (memory.availableBytes < minAvailableMemory(memory.totalBytes))
    problems.push({
      kind: 'memory_low',
      message: `${sizeText(memory.availableBytes)} of ${sizeText(memory.totalBytes)} memory are available.`,
      remedy: 'Give projects memory limits, let idle projects sleep, move projects to another machine, or add memory.',
    })
  const { offsetSeconds } = clock
  if (offsetSeconds !== null && Math.abs(offsetSeconds) > maxClockOffsetSeconds)
    problems.push({
      kind: 'clock_wrong',
      message: `The clock is ${Math.round(Math.abs(offsetSeconds))} s ${offsetSeconds > 0 ? 'ahead' : 'behind'}.`,
      remedy:
        'Turn time synchronization on: timedatectl set-ntp true. Until then certificates and one-time codes may be refused.',
    })
  return problems
}

const cleanUp = 'Clean up the build storage (Organisation, Storage), remove backups that are kept on this machine'

const sizeText = (bytes: number) => (bytes >= gb ? `${(bytes / gb).toFixed(1)} GB` : `${Math.round(bytes / mb)} MB`)
