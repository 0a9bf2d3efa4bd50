import { setImmediate as otherWorkFirst } from 'node:timers/promises'

/** Does one piece of work after another, and whatever else the process has to do in between. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work)
    this.#last = turn.then(
      () => otherWorkFirst(),
      () => otherWorkFirst(),
    )
    return turn
  }
}
