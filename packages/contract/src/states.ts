/**
 * Every state machine of the product is a table here; one function per machine changes the state, and a terminal status is final.
 */

export const terminalStatuses = ['succeeded', 'failed', 'cancelled', 'server_error'] as const
export type TerminalStatus = (typeof terminalStatuses)[number]

const ended = ['failed', 'cancelled', 'server_error'] as const

export const runStatuses = ['queued', 'preparing', 'dumping', 'uploading', 'verifying', ...terminalStatuses] as const
export type RunStatus = (typeof runStatuses)[number]

export const runMoves = {
  queued: ['preparing', ...ended],
  preparing: ['dumping', ...ended],
  dumping: ['uploading', ...ended],
  uploading: ['verifying', ...ended],
  verifying: ['succeeded', ...ended],
  succeeded: [],
  failed: [],
  cancelled: [],
  server_error: [],
} as const satisfies Moves<RunStatus>

export const restoreStatuses = ['staged', 'applying', ...terminalStatuses] as const
export type RestoreStatus = (typeof restoreStatuses)[number]

/** `staged` can fail without being applied: the archive is verified in the background before anything is changed. */
export const restoreMoves = {
  staged: ['applying', ...ended],
  applying: ['succeeded', ...ended],
  succeeded: [],
  failed: [],
  cancelled: [],
  server_error: [],
} as const satisfies Moves<RestoreStatus>

export const deploymentStatuses = ['queued', 'building', 'deploying', 'live', 'superseded', 'failed', 'cancelled'] as const
export type DeploymentStatus = (typeof deploymentStatuses)[number]

/** A rollback starts a kept image, so it goes from `queued` directly to `deploying`. */
export const deploymentMoves = {
  queued: ['building', 'deploying', 'failed', 'cancelled'],
  building: ['deploying', 'failed', 'cancelled'],
  deploying: ['live', 'failed', 'cancelled'],
  live: ['superseded'],
  superseded: [],
  failed: [],
  cancelled: [],
} as const satisfies Moves<DeploymentStatus>

export const environmentStates = ['live', 'sleeping', 'waking', 'stopped'] as const
export type EnvironmentState = (typeof environmentStates)[number]

/**
 * The state of a deployed environment. There is no terminal state: requests to a `waking` one wait until it runs, `stopped` is
 * disabled.
 */
export const environmentMoves = {
  live: ['sleeping', 'waking', 'stopped'],
  sleeping: ['live', 'stopped'],
  waking: ['live', 'sleeping', 'stopped'],
  stopped: ['live', 'sleeping'],
} as const satisfies Moves<EnvironmentState>

export const exportStates = ['packing', 'packed', 'releasing', 'ready', 'departed', 'failed', 'aborted'] as const
export type ExportState = (typeof exportStates)[number]

/** A packed project continues to serve; from `releasing` on it is stopped, until the transfer is complete or cancelled. */
export const exportMoves = {
  packing: ['packed', 'failed', 'aborted'],
  packed: ['releasing', 'aborted'],
  releasing: ['ready', 'failed', 'aborted'],
  ready: ['departed', 'aborted'],
  failed: ['aborted'],
  departed: [],
  aborted: [],
} as const satisfies Moves<ExportState>

export const importStates = ['open', 'staging', 'staged', 'landing', 'landed', 'active', 'failed', 'aborted'] as const
export type ImportState = (typeof importStates)[number]

/** `staged` is recorded and built, `landed` has its data and runs; only `active` has a route. */
export const importMoves = {
  open: ['staging', 'aborted'],
  staging: ['staged', 'failed', 'aborted'],
  staged: ['landing', 'aborted'],
  landing: ['landed', 'failed', 'aborted'],
  landed: ['active', 'aborted'],
  failed: ['aborted'],
  active: [],
  aborted: [],
} as const satisfies Moves<ImportState>

/**
 * Where a project is: `arriving` and `landing` are hidden until they are `here`; `departing` is stopped; `departed` is a kept copy.
 */
export const presences = ['here', 'arriving', 'landing', 'departing', 'departed'] as const
export type Presence = (typeof presences)[number]

export const presenceMoves = {
  here: ['departing'],
  departing: ['here', 'departed'],
  departed: ['arriving'],
  arriving: ['landing', 'departed'],
  landing: ['here', 'departed'],
} as const satisfies Moves<Presence>

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
export const tlsMoves = {
  none: ['pending', 'active', 'error'],
  pending: ['active', 'error', 'none'],
  active: ['error', 'none'],
  error: ['pending', 'active', 'none'],
} as const satisfies Moves<TlsState>

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

export type Moves<S extends string> = Readonly<Record<S, readonly S[]>>

export const canMove = <S extends string>(moves: Moves<S>, from: S, to: S): boolean => moves[from].includes(to)

/** The statuses from which a row may change to `to`: the `WHERE status IN (…)` of an atomic update. */
export const sourcesOf = <S extends string>(moves: Moves<S>, to: S): S[] =>
  (Object.keys(moves) as S[]).filter((from) => canMove(moves, from, to))

/** The same, including `to` itself: for an update that also writes new data. */
export const sourcesOrSelf = <S extends string>(moves: Moves<S>, to: S): S[] => [...sourcesOf(moves, to), to]

const endsOf = <S extends string>(moves: Moves<S>): ReadonlySet<S> =>
  new Set((Object.keys(moves) as S[]).filter((status) => moves[status].length === 0))

export const terminalRun = endsOf<RunStatus>(runMoves)
export const terminalRestore = endsOf<RestoreStatus>(restoreMoves)
export const terminalDeployment = endsOf<DeploymentStatus>(deploymentMoves)
/** Statuses in which no work is running: a deployment's stream completes here, although a live one is superseded later. */
export const settledDeployment: ReadonlySet<DeploymentStatus> = new Set<DeploymentStatus>([...terminalDeployment, 'live'])
