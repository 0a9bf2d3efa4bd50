import type { AnyRoute, ErrorBody } from '@berth/contract'
import { Failure, fail } from '../platform/failure.ts'
import type { Log } from '../platform/log.ts'
import { isReread, type Signals } from '../platform/signals/signals.ts'
import { checkRole } from './cloud-proxy.ts'
import { checkTag, type Gatekeeper, loadObject } from './guard.ts'
import type { Caller, Loaders } from './handler.ts'

/** Published when somebody's access may have changed. */
const accessTopic = 'access'
interface AccessSignal {
  /** null: of whatever organisation. */
  organizationId: string | null
}

/** Writes after which somebody may have less than before: all of access, and what takes an object away. */
const accessWrites = /^\S+ \/(auth|tokens|organizations|members|invitations|cloud)\b|\/grants\b|^DELETE \//

export const mayChangeAccess = ({ at, method }: Pick<AnyRoute, 'at' | 'method'>): boolean =>
  method !== 'GET' && accessWrites.test(at)

interface OpenStream {
  row: AnyRoute
  params: Record<string, string>
  caller: Caller
  /** It is of a project in the cloud, which no loader knows: the tag is asked about, and the link that it came by. */
  elsewhere?: { isSameLink(): Promise<boolean> }
  /** Sends the last event and closes. */
  end(reason: ErrorBody): void
}

export interface OpenStreamsDeps {
  gatekeeper: Gatekeeper
  loaders: Loaders
  signals: Signals
  log: Log
  /** Between two looks at all of them. */
  everyMs: number | undefined
}

const atOnce = 16

/**
 * Every stream that is open here. Each is judged by the guard again when access changes, here or on another control plane,
 * and every few seconds: a token ends by time, and a signal may be lost. Who reads ten streams is asked about once.
 */
export class OpenStreams {
  readonly #deps: OpenStreamsDeps
  readonly #open = new Set<OpenStream>()
  readonly #unsubscribe: () => void
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | null = null
  #next: Set<string | null> = new Set()

  constructor(deps: OpenStreamsDeps) {
    this.#deps = deps
    this.#unsubscribe = deps.signals.subscribe<AccessSignal>(accessTopic, (event) =>
      this.#lookSoon(isReread(event) ? null : event.organizationId),
    )
  }

  get size(): number {
    return this.#open.size
  }

  /** From now on the stream is judged; gives the function that forgets it. */
  add(stream: OpenStream): () => void {
    this.#open.add(stream)
    this.#timer ??= setInterval(() => this.#lookSoon(null), this.#deps.everyMs ?? 3_000).unref()
    return () => {
      this.#open.delete(stream)
      if (this.#open.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }

  /** Somebody's access changed; every control plane looks at the streams of that organisation. */
  accessChanged(organizationId: string | null): void {
    this.#deps.signals.publish(accessTopic, { organizationId } satisfies AccessSignal)
  }

  close(): void {
    this.#unsubscribe()
    clearInterval(this.#timer)
    this.#open.clear()
  }

  /** What is asked for during a look is looked at after it, in one more. */
  #lookSoon(organizationId: string | null): void {
    if (this.#open.size === 0) return
    this.#next.add(organizationId)
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
  }

  async #look(): Promise<void> {
    while (this.#next.size > 0) {
      const wanted = this.#next
      this.#next = new Set()
      const streams = [...this.#open].filter(({ caller }) => wanted.has(null) || wanted.has(caller.organizationId))
      const groups = [...Map.groupBy(streams, sameQuestion).values()]
      const callers = new Map<string, Promise<Caller | null>>()
      for (let at = 0; at < groups.length; at += atOnce)
        await Promise.all(groups.slice(at, at + atOnce).map((group) => this.#judge(group, callers)))
    }
  }

  async #judge(group: OpenStream[], callers: Map<string, Promise<Caller | null>>): Promise<void> {
    const [{ row, params, caller, elsewhere }] = group as [OpenStream]
    try {
      const who = credentialOf(caller)
      const asked = callers.get(who) ?? Promise.resolve(this.#deps.gatekeeper.renew(caller))
      callers.set(who, asked)
      const now = (await asked) ?? fail('unauthorized', { words: 'Session expired. Sign in again.' })
      await checkTag(row, now, this.#deps.gatekeeper)
      if (elsewhere) await this.#judgeElsewhere(group, now)
      else if (row.on) await loadObject(row, { params }, now, this.#deps)
    } catch (error) {
      const reason = error instanceof Failure ? error : this.#unknown(error)
      for (const stream of group) stream.end(reason.body())
    }
  }

  async #judgeElsewhere(group: OpenStream[], caller: Caller): Promise<void> {
    checkRole((group[0] as OpenStream).row, caller)
    const changed = new Failure('not_found', { words: 'The cloud link changed. Open the stream again.' })
    for (const stream of group) if (!(await stream.elsewhere?.isSameLink())) stream.end(changed.body())
  }

  /** Nobody can say whether they still may: the stream ends, and its reader asks again. */
  #unknown(error: unknown): Failure {
    this.#deps.log.warn({ err: error }, 'http: stream closed, its authorization could not be checked again')
    return new Failure('unavailable')
  }
}

const credentialOf = ({ tokenId, sessionId, organizationId }: Caller) => `${tokenId ?? sessionId} ${organizationId}`
const sameQuestion = ({ row, params, caller, elsewhere }: OpenStream) =>
  `${credentialOf(caller)} ${row.at} ${JSON.stringify(params)}${elsewhere ? ' elsewhere' : ''}`
