import type { Deployment, DeploymentLogLine, DeploymentStep } from '@berth/contract'
import { settledDeployment } from '@berth/contract'
import type { EventStream } from '../../http/handler.ts'
import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'
import { isLogId } from '../../platform/log-store/log-entry.ts'
import { isReread } from '../../platform/signals/signals.ts'
import { deploymentTopic } from './deployment-log.ts'
import type { DeploymentsDeps } from './deps.ts'
import { showDeployment } from './show.ts'
import { findDeployment } from './store.ts'

type Events = { snapshot: Deployment; step: DeploymentStep; log: DeploymentLogLine; complete: Deployment }

/** Subscribe, then read the snapshot, then relay, then `complete`: in that order, or an event falls between. */
export async function streamDeployment(
  deployment: DeploymentRow,
  stream: EventStream<Events>,
  deps: DeploymentsDeps,
): Promise<void> {
  const over = new AbortController()
  const ended = AbortSignal.any([stream.abort, over.signal])
  const steps: DeploymentStep[] = []
  let wake = () => {}
  let hasNews = false
  const unsubscribe = deps.database.signals.subscribe<{ step?: DeploymentStep }>(deploymentTopic(deployment.id), (event) => {
    if (!isReread(event) && event.step) steps.push(event.step)
    hasNews = true
    wake()
  })
  try {
    const current = async () => (await findDeployment(deps.database.db, deployment.id)) ?? deployment
    let row = await current()
    await stream.send('snapshot', showDeployment(row))
    const relay = new LineRelay(row, stream, deps)
    const lines = relay.run(ended)
    while (!settledDeployment.has(row.status) && !stream.abort.aborted) {
      await news(stream.abort, (resolve) => {
        wake = resolve
        if (hasNews) resolve()
      })
      hasNews = false
      // A step ends after its last line, also for who looks on.
      if (steps.length > 0) await relay.caughtUp(ended)
      for (const step of steps.splice(0)) await stream.send('step', step)
      row = await current()
    }
    await deps.logStore.flush()
    over.abort()
    const lastId = await lines
    await sendRest(row, lastId, stream, deps)
    await stream.send('complete', showDeployment(row))
  } finally {
    over.abort()
    unsubscribe()
  }
}

/** A signal may be lost between two servers: the row is looked at again after a while in any case. */
async function news(abort: AbortSignal, listen: (resolve: () => void) => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, 2_000)
  const end = () => resolve()
  abort.addEventListener('abort', end, { once: true })
  listen(resolve)
  await promise
  clearTimeout(timer)
  abort.removeEventListener('abort', end)
}

/** Lines from the beginning, or from where a reader left off. */
class LineRelay {
  readonly #deployment: DeploymentRow
  readonly #stream: EventStream<Events>
  readonly #deps: DeploymentsDeps
  #lastId: string
  #onSent = () => {}

  constructor(deployment: DeploymentRow, stream: EventStream<Events>, deps: DeploymentsDeps) {
    this.#deployment = deployment
    this.#stream = stream
    this.#deps = deps
    this.#lastId = stream.lastEventId && isLogId(stream.lastEventId) ? stream.lastEventId : firstId
  }

  /** Gives the last id that was sent. */
  async run(ended: AbortSignal): Promise<string> {
    const { projectId, id } = this.#deployment
    const options = { afterId: this.#lastId, filter: { deployment: id } }
    try {
      for await (const line of this.#deps.logStore.follow(projectId, 'deployments', options, ended)) {
        await this.#stream.send('log', line, line.id)
        this.#lastId = line.id
        this.#onSent()
      }
    } catch (error) {
      if (!ended.aborted) throw error
    }
    return this.#lastId
  }

  /** Resolves when what is written by now was sent. */
  async caughtUp(ended: AbortSignal): Promise<void> {
    const { projectId, id } = this.#deployment
    const [newest] = await this.#deps.logStore.tail(projectId, 'deployments', { limit: 1, filter: { deployment: id } })
    while (newest && this.#lastId < newest.id && !ended.aborted)
      await news(ended, (resolve) => {
        this.#onSent = resolve
        if (this.#lastId >= newest.id) resolve()
      })
  }
}

async function sendRest({ projectId, id }: DeploymentRow, afterId: string, stream: EventStream<Events>, deps: DeploymentsDeps) {
  for await (const line of deps.logStore.read(projectId, 'deployments', { afterId, filter: { deployment: id } }))
    await stream.send('log', line, line.id)
}

const firstId = '0'.repeat(16)
