import { iso } from '../../../platform/db/columns.ts'
import type { OperationKind, OperationPhase, ProjectOperationRow } from '../../../platform/db/tables/projects.ts'

type OperationFields = Pick<ProjectOperationRow, 'id' | 'kind' | 'phase' | 'subjectId' | 'startedAt'>

const labels: Record<OperationKind, string> = {
  deploy: 'deployment',
  redeploy: 'redeployment',
  rollback: 'rollback',
  enable: 'enable',
  disable: 'disable',
  restart: 'restart',
  recover: 'restart',
  wake: 'wake-up',
  sleep: 'sleep',
  change: 'change',
  backup: 'backup run',
  task: 'task run',
  restore: 'restore',
  move: 'move',
  delete: 'deletion',
}

/** Advice about an operation that was cancelled already. */
const cancelledAdvice: Partial<Record<OperationPhase, string>> = {
  cancelling: 'It was cancelled and is being stopped. Wait until it ends.',
  undoing: 'It was cancelled, and the previous data is being put back. Wait until it ends.',
}

const advice: Partial<Record<OperationKind, (id: string) => string>> = {
  restore: () => 'Wait until it ends, or cancel the restore.',
  move: (id) => `Wait until it ends, or cancel it with berth project transfers --cancel ${id}.`,
  delete: () => 'A deletion cannot be cancelled.',
}

/** The operation as `deletion-preview` lists it. */
export const showOperation = (row: OperationFields): { kind: string; id: string; status: string } => ({
  kind: labels[row.kind],
  id: row.subjectId ?? row.id,
  status: row.phase,
})

/** Names each operation with its id, phase and start time, then gives advice. */
export function operationsText(rows: readonly OperationFields[]): string {
  const descriptions = rows.map(
    (row) => `${labels[row.kind]} ${row.subjectId ?? row.id} (${row.phase}, since ${iso(row.startedAt)})`,
  )
  const [first] = rows
  const next = first && (cancelledAdvice[first.phase] ?? advice[first.kind]?.(first.subjectId ?? first.id))
  return `Another operation is running on this project: ${descriptions.join(', ')}. ${next ?? 'Wait until it ends.'}`
}
