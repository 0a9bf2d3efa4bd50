import type { Deployment, DeploymentLogLine, DeploymentStep } from '@berth/contract'
import { settledDeployment } from '@berth/contract'
import { streamEntity } from '../../../http/entity-stream.ts'
import type { EventStream } from '../../../http/handler.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import { isLogId } from '../../../platform/log-store/log-entry.ts'
import { deploymentTopic } from '../deployment-log.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { findDeployment } from '../store.ts'
import { showDeployment } from './show.ts'

type Events = { snapshot: Deployment; step: DeploymentStep; log: DeploymentLogLine; complete: Deployment }

/** The row, its steps, and its lines from the beginning or from where a reader left off. */
export async function streamDeployment(
  deployment: DeploymentRow,
  stream: EventStream<Events>,
  deps: DeploymentsDeps,
): Promise<void> {
  const { db, signals } = deps.database
  const lines = new LineRelay(deployment, stream, deps)
  try {
    await streamEntity<DeploymentRow, { step?: DeploymentStep }>(signals, stream.abort, {
      topic: deploymentTopic(deployment.id),
      read: async () => (await findDeployment(db, deployment.id)) ?? deployment,
      async open(row) {
        await stream.send('snapshot', showDeployment(row))
        lines.start()
      },
      async relay(news) {
        const steps = news.signals.flatMap(({ step }) => step ?? [])
        // A step ends after its last line, also for who looks on.
        if (steps.length > 0) await lines.caughtUp()
        for (const step of steps) await stream.send('step', step)
      },
      end: {
        isReached: ({ status }) => settledDeployment.has(status),
        async complete(row) {
          await lines.sendRest()
          await stream.send('complete', showDeployment(row))
        },
      },
    })
  } finally {
    lines.stop()
  }
}

/** Sends the lines of a deployment as they are written. */
class LineRelay {
  readonly #deployment: DeploymentRow
  readonly #stream: EventStream<Events>
  readonly #deps: DeploymentsDeps
  readonly #stopped = new AbortController()
  readonly #ended: AbortSignal
  #lastId: string
  #running: Promise<void> = Promise.resolve()
  #onSent = () => {}

  constructor(deployment: DeploymentRow, stream: EventStream<Events>, deps: DeploymentsDeps) {
    this.#deployment = deployment
    this.#stream = stream
    this.#deps = deps
    this.#ended = AbortSignal.any([stream.abort, this.#stopped.signal])
    this.#lastId = stream.lastEventId && isLogId(stream.lastEventId) ? stream.lastEventId : firstId
  }

  start(): void {
    this.#running = this.#follow()
    // What goes wrong is thrown where the rest is sent; until then nobody waits for it.
    this.#running.catch(() => this.#stopped.abort())
  }

  stop(): void {
    this.#stopped.abort()
  }

  /** Resolves when what is written by now was sent. */
  async caughtUp(): Promise<void> {
    const { projectId, id } = this.#deployment
    const [newest] = await this.#deps.logStore.tail(projectId, 'deployments', { limit: 1, filter: { deployment: id } })
    while (newest && this.#lastId < newest.id && !this.#ended.aborted) await this.#oneSent()
  }

  /** Ends it with what was written and not yet sent. */
  async sendRest(): Promise<void> {
    await this.#deps.logStore.flush()
    this.stop()
    await this.#running
    const { projectId, id } = this.#deployment
    const rest = this.#deps.logStore.read(projectId, 'deployments', { afterId: this.#lastId, filter: { deployment: id } })
    for await (const line of rest) await this.#stream.send('log', line, line.id)
  }

  async #follow(): Promise<void> {
    const { projectId, id } = this.#deployment
    const options = { afterId: this.#lastId, filter: { deployment: id } }
    try {
      for await (const line of this.#deps.logStore.follow(projectId, 'deployments', options, this.#ended)) {
        await this.#stream.send('log', line, line.id)
        this.#lastId = line.id
        this.#onSent()
      }
    } catch (error) {
      if (!this.#ended.aborted) throw error
    }
  }

  /** Looks again after a while in any case: lines may be written by another control plane. */
  async #oneSent(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, 2_000)
    this.#onSent = resolve
    const end = () => resolve()
    this.#ended.addEventListener('abort', end, { once: true })
    await promise
    clearTimeout(timer)
    this.#ended.removeEventListener('abort', end)
  }
}

const firstId = '0'.repeat(16)
