/**
 * All state machines of the product, as tables. One function per machine changes the state. A terminal status is final.
 */

export const terminalStatuses = ['succeeded', 'failed', 'cancelled', 'server_error'] as const
export type TerminalStatus = (typeof terminalStatuses)[number]

const ended = ['failed', 'cancelled', 'server_error'] as const

export const runStatuses = ['queued', 'preparing', 'dumping', 'uploading', 'verifying', ...terminalStatuses] as const
export type RunStatus = (typeof runStatuses)[number]

export const runTransitions = {
  queued: ['preparing', ...ended],
  preparing: ['dumping', ...ended],
  dumping: ['uploading', ...ended],
  uploading: ['verifying', ...ended],
  verifying: ['succeeded', ...ended],
  succeeded: [],
  failed: [],
  cancelled: [],
  server_error: [],
} as const satisfies Transitions<RunStatus>

export const restoreStatuses = ['staged', 'applying', ...terminalStatuses] as const
export type RestoreStatus = (typeof restoreStatuses)[number]

/** `staged` can fail without being applied: the archive is verified in the background before anything is changed. */
export const restoreTransitions = {
  staged: ['applying', ...ended],
  applying: ['succeeded', ...ended],
  succeeded: [],
  failed: [],
  cancelled: [],
  server_error: [],
} as const satisfies Transitions<RestoreStatus>

export const deploymentStatuses = ['queued', 'building', 'deploying', 'live', 'superseded', 'failed', 'cancelled'] as const
export type DeploymentStatus = (typeof deploymentStatuses)[number]

/** A rollback starts a kept image, so it goes from `queued` directly to `deploying`. */
export const deploymentTransitions = {
  queued: ['building', 'deploying', 'failed', 'cancelled'],
  building: ['deploying', 'failed', 'cancelled'],
  deploying: ['live', 'failed', 'cancelled'],
  live: ['superseded'],
  superseded: [],
  failed: [],
  cancelled: [],
} as const satisfies Transitions<DeploymentStatus>

export const cronRunStatuses = ['queued', 'running', 'succeeded', 'failed', 'timed_out', 'skipped', 'missed'] as const
export type CronRunStatus = (typeof cronRunStatuses)[number]

/** Runs of scheduled tasks. `skipped` and `missed` runs never started; a missed one is created in that status. */
export const cronRunTransitions = {
  queued: ['running', 'failed', 'skipped'],
  running: ['succeeded', 'failed', 'timed_out'],
  succeeded: [],
  failed: [],
  timed_out: [],
  skipped: [],
  missed: [],
} as const satisfies Transitions<CronRunStatus>

export const environmentStates = ['live', 'sleeping', 'waking', 'stopped'] as const
export type EnvironmentState = (typeof environmentStates)[number]

/**
 * The state of a deployed environment. There is no terminal state: requests to a `waking` one wait until it runs, `stopped` is
 * disabled.
 */
export const environmentTransitions = {
  live: ['sleeping', 'waking', 'stopped'],
  sleeping: ['live', 'stopped'],
  waking: ['live', 'sleeping', 'stopped'],
  stopped: ['live', 'sleeping'],
} as const satisfies Transitions<EnvironmentState>

export const exportStates = ['packing', 'packed', 'releasing', 'ready', 'departed', 'failed', 'aborted'] as const
export type ExportState = (typeof exportStates)[number]

/** A packed project continues to serve; from `releasing` on it is stopped, until the transfer is complete or cancelled. */
export const exportTransitions = {
  packing: ['packed', 'failed', 'aborted'],
  packed: ['releasing', 'aborted'],
  releasing: ['ready', 'failed', 'aborted'],
  ready: ['departed', 'aborted'],
  failed: ['aborted'],
  departed: [],
  aborted: [],
} as const satisfies Transitions<ExportState>

export const importStates = ['open', 'staging', 'staged', 'landing', 'landed', 'active', 'failed', 'aborted'] as const
export type ImportState = (typeof importStates)[number]

/** `staged` is recorded and built, `landed` has its data and runs; only `active` has a route. */
export const importTransitions = {
  open: ['staging', 'aborted'],
  staging: ['staged', 'failed', 'aborted'],
  staged: ['landing', 'aborted'],
  landing: ['landed', 'failed', 'aborted'],
  landed: ['active', 'aborted'],
  failed: ['aborted'],
  active: [],
  aborted: [],
} as const satisfies Transitions<ImportState>

/**
 * Where a project is: `arriving` and `landing` are hidden until they are `here`; `departing` is stopped; `departed` is a kept copy.
 */
export const presences = ['here', 'arriving', 'landing', 'departing', 'departed'] as const
export type Presence = (typeof presences)[number]

export const presenceTransitions = {
  here: ['departing'],
  departing: ['here', 'departed'],
  departed: ['arriving'],
  arriving: ['landing', 'departed'],
  landing: ['here', 'departed'],
} as const satisfies Transitions<Presence>

/** Phases in order. A failure before `committing` rolls everything back; from then on the transfer only goes forward. */
export const transferPhases = [
  'packing',
  'sending',
  'staging',
  'releasing',
  'catching_up',
  'landing',
  'committing',
  'settling',
  'done',
  'undoing',
  'failed',
] as const
export type TransferPhase = (typeof transferPhases)[number]

export const tlsStates = ['none', 'pending', 'active', 'error'] as const
export type TlsState = (typeof tlsStates)[number]

/** The state of a domain's certificate. A valid one is used until it expires; `none` is a domain that is no longer served. */
export const tlsTransitions = {
  none: ['pending', 'active', 'error'],
  pending: ['active', 'error', 'none'],
  active: ['error', 'none'],
  error: ['pending', 'active', 'none'],
} as const satisfies Transitions<TlsState>

export const projectStatuses = [
  'created',
  'queued',
  'building',
  'deploying',
  'live',
  'sleeping',
  'unhealthy',
  'failed',
  'stopped',
  'disabled',
  'deleting',
] as const
export type ProjectStatus = (typeof projectStatuses)[number]

export type Transitions<S extends string> = Readonly<Record<S, readonly S[]>>

export const canTransition = <S extends string>(transitions: Transitions<S>, from: S, to: S): boolean =>
  transitions[from].includes(to)

/** The statuses from which a row may change to `to`: the `WHERE status IN (…)` of an atomic update. */
export const sourcesOf = <S extends string>(transitions: Transitions<S>, to: S): S[] =>
  (Object.keys(transitions) as S[]).filter((from) => canTransition(transitions, from, to))

/** The statuses from which a row may change to `to`, and `to` itself: for an update that also writes new data. */
export const sourcesOrSelf = <S extends string>(transitions: Transitions<S>, to: S): S[] => [...sourcesOf(transitions, to), to]

const terminalOf = <S extends string>(transitions: Transitions<S>): ReadonlySet<S> =>
  new Set((Object.keys(transitions) as S[]).filter((status) => transitions[status].length === 0))

export const terminalRun = terminalOf<RunStatus>(runTransitions)
export const terminalRestore = terminalOf<RestoreStatus>(restoreTransitions)
export const terminalDeployment = terminalOf<DeploymentStatus>(deploymentTransitions)
export const terminalCronRun = terminalOf<CronRunStatus>(cronRunTransitions)
/** Statuses in which no work is running: a deployment's stream completes here, although a live one is superseded later. */
export const settledDeployment: ReadonlySet<DeploymentStatus> = new Set<DeploymentStatus>([...terminalDeployment, 'live'])
