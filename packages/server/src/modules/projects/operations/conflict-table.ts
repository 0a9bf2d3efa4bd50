import type { OperationKind, OperationPhase, ProjectOperationRow } from '../../../platform/db/tables/projects.ts'

/**
 * The conflict table of operations: the rule for an operation that is requested while another one is running.
 * - `beside`: both run.
 * - `wait`: the requested one is accepted, and starts when the other one has ended.
 * - `refuse`: 409 `work_in_progress`, with the name of the running operation.
 */
export type ConflictRule = 'beside' | 'wait' | 'refuse'

type ConflictRules = Readonly<Record<OperationKind, ConflictRule>>

export const operationKinds = [
  'deploy',
  'redeploy',
  'rollback',
  'enable',
  'disable',
  'restart',
  'recover',
  'wake',
  'sleep',
  'change',
  'backup',
  'task',
  'restore',
  'move',
  'delete',
] as const satisfies readonly OperationKind[]

const allKinds = (rule: ConflictRule): ConflictRules =>
  Object.fromEntries(operationKinds.map((kind) => [kind, rule])) as Record<OperationKind, ConflictRule>

/**
 * Deployments of one environment queue; a newer one replaces an older one that still waits. A restart uses the version that is live
 * when it is requested, so it must not wait for another deployment.
 */
const deploying: ConflictRules = {
  ...allKinds('beside'),
  ...{ deploy: 'wait', redeploy: 'wait', rollback: 'wait', restart: 'refuse' },
  ...{ restore: 'wait', move: 'refuse', delete: 'refuse' },
}

/** The deployment has failed or was cancelled, and the instances that it started are being stopped. */
const discarding: ConflictRules = { ...allKinds('beside'), restore: 'wait', move: 'wait' }

/** Starts and stops of a deployed project are short, and are serialized without this table. */
const switching: ConflictRules = { ...allKinds('beside'), restore: 'wait', move: 'wait', delete: 'wait' }

/** A restore or move before it stops the project: crashed instances are still restarted, and a request wakes the project. */
const applying: ConflictRules = { ...allKinds('refuse'), recover: 'beside', wake: 'beside', sleep: 'beside', backup: 'wait' }
const moving: ConflictRules = { ...applying, backup: 'refuse' }
/** The project is stopped and its data is being written, or read for the last time. */
const stopped = { recover: 'wait', wake: 'wait', sleep: 'wait' } as const

/** The table, by the running operation and its phase. A `change` is one transaction, so it is never seen as running. */
export const conflictTable = {
  deploy: { running: deploying, discarding },
  redeploy: { running: deploying, discarding },
  rollback: { running: deploying, discarding },
  enable: { running: switching },
  disable: { running: switching },
  restart: { running: deploying, discarding },
  recover: { running: switching },
  wake: { running: switching },
  sleep: { running: switching },
  change: { running: allKinds('wait') },
  backup: { running: { ...allKinds('beside'), backup: 'wait', restore: 'wait', move: 'refuse', delete: 'refuse' } },
  // A task run uses the volumes: no other operation may replace their data meanwhile. A deletion ends the task run.
  task: { running: { ...allKinds('beside'), restore: 'wait', move: 'wait' } },
  restore: { running: applying, stopped: { ...applying, ...stopped } },
  move: { running: moving, stopped: { ...moving, ...stopped } },
  delete: { running: allKinds('refuse') },
} as const satisfies Record<OperationKind, Partial<Record<OperationPhase, ConflictRules>>>

export interface RequestedOperation {
  kind: OperationKind
  /** null: the whole project. */
  environment: string | null
  /** Requested by a push or a schedule, not by a user. It waits in cases where a user's request is refused. */
  isAutomatic?: boolean
}

type RunningOperation = Pick<ProjectOperationRow, 'kind' | 'phase' | 'environment'>

/** Operations on different environments do not conflict. */
const overlaps = (left: { environment: string | null }, right: { environment: string | null }): boolean =>
  left.environment === null || right.environment === null || left.environment === right.environment

/** Looks up the rule for the requested operation and one running operation. */
export function conflictRuleFor(requested: RequestedOperation, running: RunningOperation): ConflictRule {
  if (!overlaps(requested, running)) return 'beside'
  const phases: Partial<Record<OperationPhase, ConflictRules>> = conflictTable[running.kind]
  // While a cancelled restore puts the previous data back, the project is still stopped.
  const phase = running.phase === 'undoing' ? 'stopped' : running.phase
  const rule = (phases[phase] ?? (phases.running as ConflictRules))[requested.kind]
  // No operation waits for another one that has not started.
  if (rule === 'wait') return running.phase === 'waiting' ? 'beside' : 'wait'
  return rule === 'refuse' && requested.isAutomatic && running.kind !== 'delete' ? 'wait' : rule
}

/** Operations of one list run one after the other as jobs of one group. */
const queues: readonly (readonly OperationKind[])[] = [
  ['deploy', 'redeploy', 'rollback', 'restart'],
  ['backup', 'restore'],
]

export const shareQueue = (left: { kind: OperationKind }, right: { kind: OperationKind }): boolean =>
  queues.some((queue) => queue.includes(left.kind) && queue.includes(right.kind))

/** The running operations whose conflict rule for the requested one is `rule`. */
export const filterByRule = <Row extends RunningOperation>(
  requested: RequestedOperation,
  running: readonly Row[],
  rule: ConflictRule,
): Row[] => running.filter((row) => conflictRuleFor(requested, row) === rule)
