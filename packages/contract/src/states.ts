/** Every state machine of the product is a table here; one function a machine moves it, and a terminal status is final. */

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

/** `staged` can fail on its own: the archive is checked in the background before anything is touched. */
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

/** A rollback starts a kept image, so it goes from `queued` straight to `deploying`. */
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

/** What an environment that was deployed is doing. It has no end: `waking` is held until it runs, `stopped` is disabled. */
export const environmentMoves = {
  live: ['sleeping', 'waking', 'stopped'],
  sleeping: ['live', 'stopped'],
  waking: ['live', 'sleeping', 'stopped'],
  stopped: ['live', 'sleeping'],
} as const satisfies Moves<EnvironmentState>

export const departureStates = ['packing', 'packed', 'releasing', 'ready', 'departed', 'failed', 'aborted'] as const
export type DepartureState = (typeof departureStates)[number]

/** A project that is packed goes on serving; from `releasing` on it is stopped, until it departed or was kept after all. */
export const departureMoves = {
  packing: ['packed', 'failed', 'aborted'],
  packed: ['releasing', 'aborted'],
  releasing: ['ready', 'failed', 'aborted'],
  ready: ['departed', 'aborted'],
  failed: ['aborted'],
  departed: [],
  aborted: [],
} as const satisfies Moves<DepartureState>

export const arrivalStates = ['open', 'staging', 'staged', 'landing', 'landed', 'active', 'failed', 'aborted'] as const
export type ArrivalState = (typeof arrivalStates)[number]

/** `staged` is recorded and built, `landed` has its data and runs; only `active` has a route. */
export const arrivalMoves = {
  open: ['staging', 'aborted'],
  staging: ['staged', 'failed', 'aborted'],
  staged: ['landing', 'aborted'],
  landing: ['landed', 'failed', 'aborted'],
  landed: ['active', 'aborted'],
  failed: ['aborted'],
  active: [],
  aborted: [],
} as const satisfies Moves<ArrivalState>

/** Where a project is: `arriving` and `landing` are hidden until they are `here`; `departing` is stopped; `departed` is a kept copy. */
export const presences = ['here', 'arriving', 'landing', 'departing', 'departed'] as const
export type Presence = (typeof presences)[number]

export const presenceMoves = {
  here: ['departing'],
  departing: ['here', 'departed'],
  departed: ['arriving'],
  arriving: ['landing', 'departed'],
  landing: ['here', 'departed'],
} as const satisfies Moves<Presence>

/** In their order. Until `committing` everything is taken back when something fails; from there on it goes forward. */
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

/** How a domain stands to its certificate. One in use stays until it has ended; `none` is a domain that is not served any more. */
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

/** The statuses that a row may have to be moved to `to`: the `WHERE status IN (…)` of an atomic move. */
export const sourcesOf = <S extends string>(moves: Moves<S>, to: S): S[] =>
  (Object.keys(moves) as S[]).filter((from) => canMove(moves, from, to))

/** The same, or in that state already: for a move that also brings new facts. */
export const sourcesOrSelf = <S extends string>(moves: Moves<S>, to: S): S[] => [...sourcesOf(moves, to), to]

const endsOf = <S extends string>(moves: Moves<S>): ReadonlySet<S> =>
  new Set((Object.keys(moves) as S[]).filter((status) => moves[status].length === 0))

export const terminalRun = endsOf<RunStatus>(runMoves)
export const terminalRestore = endsOf<RestoreStatus>(restoreMoves)
export const terminalDeployment = endsOf<DeploymentStatus>(deploymentMoves)
/** Nothing is under way any more: a deployment's stream completes here, though a live one is superseded later. */
export const settledDeployment: ReadonlySet<DeploymentStatus> = new Set<DeploymentStatus>([...terminalDeployment, 'live'])
