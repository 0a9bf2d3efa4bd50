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

/** Streams the deployment, its steps and its log lines, from the beginning or from the client's last event. */
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
      async relay(changes) {
        const steps = changes.signals.flatMap(({ step }) => step ?? [])
        // The client must receive a step's last line before the end of the step.
        if (steps.length > 0) await lines.waitUntilSent()
        for (const step of steps) await stream.send('step', step)
      },
      end: {
        isReached: ({ status }) => settledDeployment.has(status),
        async complete(row) {
          await lines.sendRemaining()
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
    // `sendRemaining` awaits this promise and throws its error; the handler here prevents an unhandled rejection.
    this.#running.catch(() => this.#stopped.abort())
  }

  stop(): void {
    this.#stopped.abort()
  }

  /** Resolves when all lines written so far are sent. */
  async waitUntilSent(): Promise<void> {
    const { projectId, id } = this.#deployment
    const [newest] = await this.#deps.logStore.tail(projectId, 'deployments', { limit: 1, filter: { deployment: id } })
    while (newest && this.#lastId < newest.id && !this.#ended.aborted) await this.#waitForLine()
  }

  /** Stops following and sends the remaining lines. */
  async sendRemaining(): Promise<void> {
    await this.#deps.logStore.flush()
    this.stop()
    await this.#running
    const { projectId, id } = this.#deployment
    const remaining = this.#deps.logStore.read(projectId, 'deployments', { afterId: this.#lastId, filter: { deployment: id } })
    for await (const line of remaining) await this.#stream.send('log', line, line.id)
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

  /** Waits for the next line, at most 2 s: another control plane may write lines that this one is not notified of. */
  async #waitForLine(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, 2_000)
    this.#onSent = resolve
    const onAbort = () => resolve()
    this.#ended.addEventListener('abort', onAbort, { once: true })
    await promise
    clearTimeout(timer)
    this.#ended.removeEventListener('abort', onAbort)
  }
}

const firstId = '0'.repeat(16)
