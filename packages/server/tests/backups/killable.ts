import { AsyncLocalStorage } from 'node:async_hooks'
import type { ArchiveStore } from '../../src/drivers/archive-store/archive-store.ts'
import type { TestInstance } from '../kit/instance.ts'
import { Lives } from '../kit/lives.ts'

/** Lives whose steps also include the destination's calls and the programs in a service. */
export class Killable extends Lives {
  constructor(instance: TestInstance) {
    super(instance)
    const { drivers } = instance
    const { wrap } = drivers.aroundStores
    drivers.aroundStores.wrap = (store) => this.#mortal(wrap(store))
    const inside = drivers.runtime.onExec
    drivers.runtime.onExec = (...given) => this.step(this.current, () => (this.inside ?? inside)(...given))
  }

  /** Runs a user's request on a control plane that is alive. */
  asPerson<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#isPerson.run(true, work)
  }

  readonly #isPerson = new AsyncLocalStorage<true>()
  inside: TestInstance['drivers']['runtime']['onExec'] | undefined

  #mortal(store: ArchiveStore): ArchiveStore {
    if (this.#isPerson.getStore()) return store
    const life = this.current
    const step = <Result>(work: () => Promise<Result>) => this.step(life, work)
    const mayDie = () => (life ? this.mayDie(life) : Promise.resolve())
    return {
      check: (abort) => step(() => store.check(abort)),
      put: (name, content, abort) => step(() => store.put(name, content, abort)),
      async *get(name, abort, options) {
        await mayDie()
        yield* store.get(name, abort, options)
        await mayDie()
      },
      size: (name, abort) => step(() => store.size(name, abort)),
      async *list(prefix, abort) {
        await mayDie()
        yield* store.list(prefix, abort)
        await mayDie()
      },
      remove: (name, abort) => step(() => store.remove(name, abort)),
      removeUnfinished: (olderThan, abort) => step(() => store.removeUnfinished(olderThan, abort)),
      close: () => store.close(),
    }
  }
}
