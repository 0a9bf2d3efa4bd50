import type { OperationKind, OperationPhase, ProjectOperationRow } from '../../../platform/db/tables/projects.ts'

/**
 * The one table of operations: what becomes of an operation that is requested while another one is under way.
 * - `beside`: both run.
 * - `wait`: the requested one is accepted, and does nothing until the other one has ended.
 * - `refuse`: 409 `work_in_progress`, naming the operation that is under way.
 */
export type Meeting = 'beside' | 'wait' | 'refuse'

type Meetings = Readonly<Record<OperationKind, Meeting>>

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
  'restore',
  'move',
  'delete',
] as const satisfies readonly OperationKind[]

const all = (meeting: Meeting): Meetings =>
  Object.fromEntries(operationKinds.map((kind) => [kind, meeting])) as Record<OperationKind, Meeting>

/**
 * Deployments of one environment queue; a newer one replaces an older one that still waits. A restart takes the version that is live
 * when it is requested, so that it must not come after another one.
 */
const deploying: Meetings = {
  ...all('beside'),
  ...{ deploy: 'wait', redeploy: 'wait', rollback: 'wait', restart: 'refuse' },
  ...{ restore: 'wait', move: 'refuse', delete: 'refuse' },
}

/** The deployment has failed or was cancelled, and the instances that it started are being stopped. */
const discarding: Meetings = { ...all('beside'), restore: 'wait', move: 'wait' }

/** Starts and stops of a deployed project are short, and are serialized without this table. */
const switching: Meetings = { ...all('beside'), restore: 'wait', move: 'wait', delete: 'wait' }

/** The project still serves: an instance that crashed is restarted, and a request wakes it. */
const applying: Meetings = { ...all('refuse'), recover: 'beside', wake: 'beside', sleep: 'beside', backup: 'wait' }
const moving: Meetings = { ...applying, backup: 'refuse' }
/** The project is stopped and its data is being written, or read for the last time. */
const stopped = { recover: 'wait', wake: 'wait', sleep: 'wait' } as const

/** The table, by the operation that is under way and its phase. An operation that is one transaction (`change`) is never seen under way. */
export const meetings = {
  deploy: { running: deploying, discarding },
  redeploy: { running: deploying, discarding },
  rollback: { running: deploying, discarding },
  enable: { running: switching },
  disable: { running: switching },
  restart: { running: deploying, discarding },
  recover: { running: switching },
  wake: { running: switching },
  sleep: { running: switching },
  change: { running: all('wait') },
  backup: { running: { ...all('beside'), backup: 'wait', restore: 'wait', move: 'refuse', delete: 'refuse' } },
  restore: { running: applying, stopped: { ...applying, ...stopped } },
  move: { running: moving, stopped: { ...moving, ...stopped } },
  delete: { running: all('refuse') },
} as const satisfies Record<OperationKind, Partial<Record<OperationPhase, Meetings>>>

export interface RequestedOperation {
  kind: OperationKind
  /** null: the whole project. */
  environment: string | null
  /** Requested by a push or a schedule and not by a person: where a person is refused, it waits. */
  isAutomatic?: boolean
}

type UnderWay = Pick<ProjectOperationRow, 'kind' | 'phase' | 'environment'>

/** Operations on different environments never meet. */
const overlaps = (left: { environment: string | null }, right: { environment: string | null }): boolean =>
  left.environment === null || right.environment === null || left.environment === right.environment

/** Looks up the requested operation against one that is under way. */
export function meet(requested: RequestedOperation, underWay: UnderWay): Meeting {
  if (!overlaps(requested, underWay)) return 'beside'
  const phases: Partial<Record<OperationPhase, Meetings>> = meetings[underWay.kind]
  // Until the previous data is back, the project is stopped as it was while the restore wrote.
  const phase = underWay.phase === 'undoing' ? 'stopped' : underWay.phase
  const meeting = (phases[phase] ?? (phases.running as Meetings))[requested.kind]
  // An operation that waits does nothing yet, so that no other one waits for it.
  if (meeting === 'wait') return underWay.phase === 'waiting' ? 'beside' : 'wait'
  return meeting === 'refuse' && requested.isAutomatic && underWay.kind !== 'delete' ? 'wait' : meeting
}

/** Deployments, and backups with restores, wait for each other as jobs of one group. */
const queues: readonly (readonly OperationKind[])[] = [
  ['deploy', 'redeploy', 'rollback', 'restart'],
  ['backup', 'restore'],
]

export const shareQueue = (left: { kind: OperationKind }, right: { kind: OperationKind }): boolean =>
  queues.some((queue) => queue.includes(left.kind) && queue.includes(right.kind))

/** The operations under way whose table entry for the requested one is `meeting`. */
export const thatMeet = <Row extends UnderWay>(
  requested: RequestedOperation,
  underWay: readonly Row[],
  meeting: Meeting,
): Row[] => underWay.filter((row) => meet(requested, row) === meeting)
