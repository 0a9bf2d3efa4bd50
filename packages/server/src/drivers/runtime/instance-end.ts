/** An end of an instance that the runtime did not request. */
export interface InstanceEnd {
  /** ISO 8601. Two ends of one instance have different times. */
  at: string
  /** Exit code as a shell reports it. Null if the control plane was not running at that time. */
  exitCode: number | null
  reason: 'exit' | 'signal' | 'out_of_memory' | 'disk_full' | 'unknown'
}

const firstSignal = 129
const lastSignal = 192

export function endReason(
  exitCode: number | null,
  { outOfMemory = false, diskFull = false }: { outOfMemory?: boolean; diskFull?: boolean } = {},
): InstanceEnd['reason'] {
  if (diskFull) return 'disk_full'
  if (outOfMemory) return 'out_of_memory'
  if (exitCode === null) return 'unknown'
  return exitCode >= firstSignal && exitCode <= lastSignal ? 'signal' : 'exit'
}

const signals: Record<number, string> = { 130: 'SIGINT', 134: 'SIGABRT', 137: 'SIGKILL', 139: 'SIGSEGV', 143: 'SIGTERM' }

/** Predicate about the end, to follow a subject: `exited with code 137 (out of memory)`. */
export function endText({ exitCode, reason }: Pick<InstanceEnd, 'exitCode' | 'reason'>): string {
  if (exitCode === null && reason === 'unknown') return 'ended while Berth was not running'
  const ended = exitCode === null ? 'ended' : `exited with code ${exitCode}`
  const detail =
    reason === 'out_of_memory'
      ? 'out of memory'
      : reason === 'disk_full'
        ? 'over its disk limit'
        : reason === 'signal'
          ? (signals[exitCode ?? 0] ?? `signal ${(exitCode ?? 128) - 128}`)
          : null
  return detail ? `${ended} (${detail})` : ended
}
