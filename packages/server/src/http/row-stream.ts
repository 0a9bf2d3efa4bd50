import type { Progress } from '@berth/contract'
import type { Signals } from '../platform/signals/signals.ts'
import { streamEntity } from './entity-stream.ts'
import type { EventStream } from './handler.ts'

export interface Transition<Status extends string = string> {
  status: Status
  at: string
}

/** A signal on the topic of a row with `rowEvents` in the contract, published after the commit of the change. */
export type RowSignal<State extends Transition = Transition> = { transition: State } | { progress: Progress }

/** The events of `rowEvents`. */
export interface RowEvents<Shown, State extends Transition> {
  snapshot: Shown
  transition: State
  progress: Progress
  complete: Shown
}

export interface StreamedRow<Row, Shown, State extends Transition> {
  topic: string
  read(): Promise<Row>
  /** The public form of the row; never with a token. */
  show(row: Row): Shown
  /** The status, and the time of its last change. */
  stateOf(row: Row): State
  /** Whether no event is needed between the two states. Default: same status. */
  isSame?(one: State, other: State): boolean
  isTerminal(row: Row): boolean
}

/**
 * Streams a row that progresses to a terminal status (a backup run, a restore). Sends `snapshot`; each `transition` once and in
 * order, even if its signal was lost (then it is read from the row); the newest `progress`; and `complete` with the final row, at
 * once if it is already terminal. A reconnecting client gets a new snapshot with everything it missed, so these events need no id.
 */
export async function streamRow<Row, Shown, State extends Transition>(
  stream: EventStream<RowEvents<Shown, State>>,
  signals: Signals,
  { topic, read, show, stateOf, isSame = hasSameStatus, isTerminal }: StreamedRow<Row, Shown, State>,
): Promise<void> {
  let lastSent: State
  const transition = async (to: State) => {
    // An older transition was published before the row was read.
    if (isSame(to, lastSent) || to.at < lastSent.at) return
    lastSent = to
    await stream.send('transition', to)
  }
  await streamEntity<Row, RowSignal<State>>(signals, stream.abort, {
    topic,
    read,
    async open(row) {
      lastSent = stateOf(row)
      await stream.send('snapshot', show(row))
    },
    async relay(changes, row) {
      const newest = changes.signals.findLastIndex((signal) => 'progress' in signal)
      for (const [at, signal] of changes.signals.entries())
        if ('transition' in signal) await transition(signal.transition)
        else if (at === newest) await stream.send('progress', signal.progress)
      await transition(stateOf(row))
    },
    end: { isReached: isTerminal, complete: (row) => stream.send('complete', show(row)) },
  })
}

const hasSameStatus = (one: Transition, other: Transition): boolean => one.status === other.status
