import type { MachineProblem } from '@berth/contract'
import type { Operator, WatchedMachine } from '../watched.ts'
import { daysFrom } from './expiry.ts'
import type { Notice } from './once.ts'

/** Readings in a row: a build or a start may need much memory for a moment. */
const readingsOf = (kind: MachineProblem['kind']): number => (kind === 'memory_low' ? 3 : 1)

/** Announces a problem of the machine to each operator when it begins, and once a day while it lasts. */
export function machineNotices(machine: WatchedMachine): (now: Date) => Promise<Notice[]> {
  let readings = new Map<MachineProblem['kind'], number>()
  return async (now) => {
    const problems = await machine.problems()
    readings = new Map(problems.map(({ kind }) => [kind, (readings.get(kind) ?? 0) + 1]))
    const lasting = problems.filter(({ kind }) => (readings.get(kind) ?? 0) >= readingsOf(kind))
    if (lasting.length === 0) return []
    const operators = await machine.operators()
    return lasting.flatMap((problem) => operators.map((operator) => noticeOf(problem, operator, now)))
  }
}

const subjects: Record<MachineProblem['kind'], string> = {
  disk_low: 'The disk of the machine is nearly full',
  memory_low: 'The machine has little memory left',
  clock_wrong: 'The clock of the machine is wrong',
}

const noticeOf = ({ kind, message, remedy }: MachineProblem, { userId, organizationId }: Operator, now: Date): Notice => ({
  keys: [`machine:${kind}:${userId}`],
  forgetAt: daysFrom(now, 1),
  category: `machine.${kind}`,
  event: { organizationId, userId, subject: subjects[kind], text: `${message} ${remedy}`, data: { problem: kind } },
})
