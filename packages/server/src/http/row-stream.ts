import type { Progress } from '@berth/contract'
import type { Signals } from '../platform/signals/signals.ts'
import { streamEntity } from './entity-stream.ts'
import type { EventStream } from './handler.ts'

export interface Transition<Status extends string = string> {
  status: Status
  at: string
}

/** What is published on the topic of a row that has `rowEvents` in the contract: after the commit, by whoever moved it. */
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
  /** What a reader may see of the row; never a token. */
  show(row: Row): Shown
  /** The status, and since when. */
  stateOf(row: Row): State
  /** Whether a reader of the one needs no event for the other. Default: they have the same status. */
  isSame?(one: State, other: State): boolean
  isTerminal(row: Row): boolean
}

/**
 * The stream of a row that works its way to a terminal status (a backup run, a restore): `snapshot` with the row; each
 * `transition` once and in order, also when its signal was lost (then seen in the row); the newest `progress` and none that a
 * slow reader missed; `complete` with the final row, at once where it is terminal already; then it ends. Who comes back gets a
 * new snapshot, which says all that it missed: these events need no id.
 */
export async function streamRow<Row, Shown, State extends Transition>(
  stream: EventStream<RowEvents<Shown, State>>,
  signals: Signals,
  { topic, read, show, stateOf, isSame = hasSameStatus, isTerminal }: StreamedRow<Row, Shown, State>,
): Promise<void> {
  let shown: State
  const transition = async (to: State) => {
    // One that is older than what the reader has seen was published before the row was read.
    if (isSame(to, shown) || to.at < shown.at) return
    shown = to
    await stream.send('transition', to)
  }
  await streamEntity<Row, RowSignal<State>>(signals, stream.abort, {
    topic,
    read,
    async open(row) {
      shown = stateOf(row)
      await stream.send('snapshot', show(row))
    },
    async relay(news, row) {
      const newest = news.signals.findLastIndex((signal) => 'progress' in signal)
      for (const [at, signal] of news.signals.entries())
        if ('transition' in signal) await transition(signal.transition)
        else if (at === newest) await stream.send('progress', signal.progress)
      await transition(stateOf(row))
    },
    end: { isReached: isTerminal, complete: (row) => stream.send('complete', show(row)) },
  })
}

const hasSameStatus = (one: Transition, other: Transition): boolean => one.status === other.status
