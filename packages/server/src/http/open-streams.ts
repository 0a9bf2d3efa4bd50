import type { AnyRoute, ErrorBody } from '@berth/contract'
import { Failure, fail } from '../platform/failure.ts'
import type { Log } from '../platform/log.ts'
import { isReread, type Signals } from '../platform/signals/signals.ts'
import { checkRole } from './cloud-proxy.ts'
import { type Authenticator, checkTag, loadObject } from './guard.ts'
import type { Caller, Loaders } from './handler.ts'

/** Signal topic: the access of a caller may have changed. */
const accessTopic = 'access'
interface AccessSignal {
  /** null: any organisation. */
  organizationId: string | null
}

/** Writes that may reduce access: all of the access module, and deletions. */
const accessWrites = /^\S+ \/(auth|tokens|organizations|members|invitations|cloud)\b|\/grants\b|^DELETE \//

/** Writes about a user's sign-ins: the user may have streams in any organisation. */
const accountWrites = /^\S+ \/auth\b/

export const isAboutAccount = ({ at }: Pick<AnyRoute, 'at'>): boolean => accountWrites.test(at)

export const mayChangeAccess = ({ at, method }: Pick<AnyRoute, 'at' | 'method'>): boolean =>
  method !== 'GET' && accessWrites.test(at)

interface OpenStream {
  row: AnyRoute
  params: Record<string, string>
  caller: Caller
  /** Set for a stream of a cloud project, which no loader knows: the permission and the link are checked. */
  cloud?: { isSameLink(): Promise<boolean> }
  /** Sends the last event and closes. */
  end(reason: ErrorBody): void
}

export interface OpenStreamsDeps {
  authenticator: Authenticator
  loaders: Loaders
  signals: Signals
  log: Log
  /** Interval between checks of all streams. */
  everyMs: number | undefined
}

const maxConcurrentChecks = 16

/**
 * The open streams of this process. Authorization of each is checked again when access changes, on any control plane, and every
 * few seconds, because tokens expire and signals may be lost. A caller with several streams is checked once.
 */
export class OpenStreams {
  readonly #deps: OpenStreamsDeps
  readonly #open = new Set<OpenStream>()
  readonly #unsubscribe: () => void
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<void> | null = null
  #pendingOrganizations: Set<string | null> = new Set()

  constructor(deps: OpenStreamsDeps) {
    this.#deps = deps
    this.#unsubscribe = deps.signals.subscribe<AccessSignal>(accessTopic, (event) =>
      this.#checkSoon(isReread(event) ? null : event.organizationId),
    )
  }

  get size(): number {
    return this.#open.size
  }

  /** Adds a stream to the checks; returns the function that removes it. */
  add(stream: OpenStream): () => void {
    this.#open.add(stream)
    this.#timer ??= setInterval(() => this.#checkSoon(null), this.#deps.everyMs ?? 3_000).unref()
    return () => {
      this.#open.delete(stream)
      if (this.#open.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }

  /** Announces an access change: every control plane checks the streams of that organisation. */
  publishAccessChange(organizationId: string | null): void {
    this.#deps.signals.publish(accessTopic, { organizationId } satisfies AccessSignal)
  }

  close(): void {
    this.#unsubscribe()
    clearInterval(this.#timer)
    this.#open.clear()
  }

  /** Starts a check; requests during a running check are served by one more after it. */
  #checkSoon(organizationId: string | null): void {
    if (this.#open.size === 0) return
    this.#pendingOrganizations.add(organizationId)
    this.#checking ??= this.#check().finally(() => {
      this.#checking = null
    })
  }

  async #check(): Promise<void> {
    while (this.#pendingOrganizations.size > 0) {
      const organizationIds = this.#pendingOrganizations
      this.#pendingOrganizations = new Set()
      const streams = [...this.#open].filter(
        ({ caller }) => organizationIds.has(null) || organizationIds.has(caller.organizationId),
      )
      const groups = [...Map.groupBy(streams, checkKey).values()]
      const callers = new Map<string, Promise<Caller | null>>()
      for (let at = 0; at < groups.length; at += maxConcurrentChecks)
        await Promise.all(groups.slice(at, at + maxConcurrentChecks).map((group) => this.#authorize(group, callers)))
    }
  }

  async #authorize(group: OpenStream[], callers: Map<string, Promise<Caller | null>>): Promise<void> {
    const [{ row, params, caller, cloud }] = group as [OpenStream]
    try {
      const credential = credentialOf(caller)
      const refreshed = callers.get(credential) ?? Promise.resolve(this.#deps.authenticator.renew(caller))
      callers.set(credential, refreshed)
      const current = (await refreshed) ?? fail('unauthorized', { message: 'Session expired. Sign in again.' })
      await checkTag(row, current, this.#deps.authenticator)
      if (cloud) await this.#authorizeInCloud(group, current)
      else if (row.on) await loadObject(row, { params }, current, this.#deps)
    } catch (error) {
      const reason = error instanceof Failure ? error : this.#checkFailed(error)
      for (const stream of group) stream.end(reason.body())
    }
  }

  async #authorizeInCloud(group: OpenStream[], caller: Caller): Promise<void> {
    checkRole((group[0] as OpenStream).row, caller)
    const changed = new Failure('not_found', { message: 'The cloud link changed. Open the stream again.' })
    for (const stream of group) if (!(await stream.cloud?.isSameLink())) stream.end(changed.body())
  }

  /** Closes a stream whose authorization cannot be checked; the client reconnects. */
  #checkFailed(error: unknown): Failure {
    this.#deps.log.warn({ err: error }, 'http: stream closed, its authorization could not be checked again')
    return new Failure('unavailable')
  }
}

const credentialOf = ({ tokenId, sessionId, organizationId }: Caller) => `${tokenId ?? sessionId} ${organizationId}`
const checkKey = ({ row, params, caller, cloud }: OpenStream) =>
  `${credentialOf(caller)} ${row.at} ${JSON.stringify(params)}${cloud ? ' cloud' : ''}`
