import { setTimeout as pause } from 'node:timers/promises'
import { KeyedMutex } from '../../../platform/keyed-mutex.ts'
import { endReason, endText } from '../instance-end.ts'
import type { Instance, InstanceChange } from '../runtime.ts'
import { type Engine, engineMessage, eventsOf } from './engine.ts'
import { KnownInstances } from './known-instances.ts'
import { type Labels, labelIn } from './labels.ts'
import type { DiskFullMarkers } from './run/disk-full-markers.ts'
import type { InstanceControl } from './run/instance-control.ts'
import { inspectContainer } from './run/instances.ts'
import { lastLines } from './run/logs.ts'
import { isOwnNetwork } from './run/networks.ts'

const crashLoopRestarts = 5
const reconnectDelayMs = 1_000
/** Wait for the out-of-memory event, which may follow the end that it caused. */
const oomEventWaitMs = 500
const killedExitCode = 137
const quotedLines = 5
/** Events that change the state of an instance. `disconnect` is an event of its network. */
const stateEvents = ['die', 'start', 'oom', 'pause', 'unpause', 'destroy', 'update', 'health_status', 'disconnect']

interface LastState {
  restarts: number
  hasEnded: boolean
  health: HealthStatus | undefined
}

type HealthStatus = NonNullable<Instance['health']>['status']

interface ChangeParts {
  engine: Engine
  labels: Labels
  diskFullMarkers: DiskFullMarkers
  control: InstanceControl
}

/**
 * Reports when instances end by themselves. Events of the engine trigger a check that compares the state with the last known
 * one. So an end during a gap in the event stream is reported as well, and no end is reported twice.
 */
export class InstanceChanges {
  readonly #parts: ChangeParts
  readonly known = new KnownInstances()
  readonly #listeners = new Set<(change: InstanceChange) => void>()
  readonly #lastStates = new Map<string, LastState>()
  readonly #expectedEnds = new Set<string>()
  /** Instances that exceeded their memory since their last start, and callbacks that wait for that event. */
  readonly #outOfMemory = new Set<string>()
  readonly #outOfMemoryCallbacks = new Map<string, () => void>()
  /** Serializes the reports of an instance. */
  readonly #notifying = new KeyedMutex()
  readonly #reconnectListeners = new Set<() => void>()
  readonly #stop = new AbortController()
  #loop: Promise<void> | undefined
  #isOpen = false
  /** How often the event stream was interrupted. */
  disconnects = 0

  constructor(parts: ChangeParts) {
    this.#parts = parts
  }

  listen(listener: (change: InstanceChange) => void): () => void {
    this.#listeners.add(listener)
    this.#loop ??= this.#watch()
    return () => this.#listeners.delete(listener)
  }

  onReconnect(listener: () => void): () => void {
    this.#reconnectListeners.add(listener)
    return () => this.#reconnectListeners.delete(listener)
  }

  instanceStarted({ instanceId, restarts, health }: Instance): void {
    this.known.forget(instanceId)
    this.#lastStates.set(instanceId, { restarts, hasEnded: false, health: health?.status })
  }

  /** Marks the next end of the instance as requested, so that it is not reported. */
  expectEnd(instanceId: string): void {
    this.known.forget(instanceId)
    this.#expectedEnds.add(instanceId)
  }

  forget(instanceId: string): void {
    this.known.forget(instanceId)
    this.#lastStates.delete(instanceId)
    this.#expectedEnds.delete(instanceId)
    this.#outOfMemory.delete(instanceId)
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    this.#stop.abort()
    await this.#loop
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await this.#follow(signal).catch(() => undefined)
      if (this.#isOpen) this.disconnects += 1
      this.#isOpen = false
      this.known.isFollowing = false
      await pause(reconnectDelayMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { engine, labels } = this.#parts
    // Network events have no labels, so a filter by label would drop them.
    const filters = { type: ['container', 'network'], event: [...stateEvents] }
    const { promise: opened, resolve: onOpen } = Promise.withResolvers<void>()
    // If an event cannot be processed, the comparison after the next connect finds the change.
    const failed = new AbortController()
    const fail = () => failed.abort()
    // Compared after the stream has opened, so that no change is missed in between.
    void opened.then(() => this.#compareAll()).catch(fail)
    const abort = AbortSignal.any([signal, failed.signal])
    for await (const event of eventsOf(filters, engine, { abort, onOpen })) {
      const attributes = event.Actor?.Attributes
      if (event.Type === 'network') await this.#networkChanged(attributes)
      if (!labels.isThisBerth(attributes) || labelIn(attributes, 'kind') !== 'instance') continue
      const instanceId = labelIn(event.Actor?.Attributes, 'id')
      this.known.forget(instanceId)
      if (event.Action === 'oom') this.#recordOutOfMemory(instanceId)
      if (event.Action === 'start') this.#outOfMemory.delete(instanceId)
      if (event.Action === 'die') {
        const wasOutOfMemory = this.#outOfMemory.delete(instanceId)
        this.#notifying.run(instanceId, () => this.#died(event.Actor?.Attributes, wasOutOfMemory)).catch(fail)
      }
      if (event.Action?.startsWith('health_status')) {
        const instance = await this.#parts.control.inspect(instanceId)
        if (instance) this.#notifyHealth(instance)
      }
    }
  }

  async #compareAll(): Promise<void> {
    this.known.isFollowing = true
    this.#isOpen = true
    if (this.disconnects > 0) for (const listener of this.#reconnectListeners) listener()
    for (const instance of await this.#parts.control.list()) {
      const before = this.#lastStates.get(instance.instanceId)
      if (before && before.health !== instance.health?.status) this.#notifyHealth(instance)
      this.#compare(instance)
    }
  }

  #notifyHealth(instance: Instance): void {
    const { instanceId, health, restarts } = instance
    if (!health || this.#expectedEnds.has(instanceId)) return
    this.#lastStates.set(instanceId, { restarts, hasEnded: false, ...this.#lastStates.get(instanceId), health: health.status })
    const reason = [`Its health check reports ${health.status}`, health.output].filter(Boolean).join(': ')
    this.#notify({ instance, kind: 'health', reason })
  }

  /** Reports a lost network. A container that ends leaves its network as well, which is not reported. */
  async #networkChanged({ name = '', container = '' }: Record<string, string> = {}): Promise<void> {
    if (!isOwnNetwork(name) || !container) return
    const instance = await inspectContainer(container, this.#parts).catch(() => undefined)
    if (!instance?.networkLost) return
    this.known.forget(instance.instanceId)
    if (!this.#expectedEnds.has(instance.instanceId))
      this.#notify({ instance, kind: 'network', reason: 'Its Docker network was removed' })
  }

  #recordOutOfMemory(instanceId: string): void {
    this.#outOfMemory.add(instanceId)
    this.#outOfMemoryCallbacks.get(instanceId)?.()
  }

  /** Takes the exit code from the event: if the instance runs again by now, the engine no longer knows it. */
  async #died(attributes: Record<string, string> | undefined, wasOutOfMemory: boolean): Promise<void> {
    const instanceId = labelIn(attributes, 'id')
    const instance = await this.#parts.control.inspect(instanceId)
    if (!instance) return
    const exitCode = attributes?.exitCode === undefined ? instance.exitCode : Number(attributes.exitCode)
    const outOfMemory =
      wasOutOfMemory || instance.outOfMemory || (!instance.diskFull && (await this.#wasOutOfMemory(instanceId, exitCode)))
    const at = instance.lastEnd?.at ?? new Date().toISOString()
    this.#compare({
      ...instance,
      lastEnd: { at, exitCode, reason: endReason(exitCode, { outOfMemory, diskFull: instance.diskFull === true }) },
    })
  }

  async #wasOutOfMemory(instanceId: string, exitCode: number | null): Promise<boolean> {
    if (exitCode !== killedExitCode || this.#expectedEnds.has(instanceId)) return false
    if (!this.#outOfMemory.has(instanceId)) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#outOfMemoryCallbacks.set(instanceId, resolve)
      await Promise.race([promise, pause(oomEventWaitMs, undefined, { ref: false })])
      this.#outOfMemoryCallbacks.delete(instanceId)
    }
    return this.#outOfMemory.delete(instanceId)
  }

  #compare(instance: Instance): void {
    const { instanceId, restarts } = instance
    const hasEnded = instance.state === 'exited'
    const before = this.#lastStates.get(instanceId) ?? { restarts, hasEnded: false, health: instance.health?.status }
    this.#lastStates.set(instanceId, { ...before, restarts, hasEnded })
    if (this.#expectedEnds.has(instanceId)) return
    if (hasEnded && !before.hasEnded) void this.#emit(instance, 'exited')
    else if (restarts > before.restarts) {
      const isLoop = before.restarts < crashLoopRestarts && restarts >= crashLoopRestarts
      void this.#emit(instance, isLoop ? 'crash_loop' : 'restarted')
    }
  }

  async #emit(instance: Instance, kind: InstanceChange['kind']): Promise<void> {
    const { engine, control } = this.#parts
    const container = (await control.containers(instance.instanceId)).at(-1)
    const lines = container === undefined ? [] : await lastLines(container, quotedLines, engine)
    const reason = [`It ${endText(instance.lastEnd ?? { exitCode: null, reason: 'unknown' })}`, ...lines].join('\n')
    this.#notify({ instance, kind, reason })
  }

  #notify(change: InstanceChange): void {
    for (const listener of this.#listeners)
      try {
        listener(change)
      } catch (error) {
        process.emitWarning(`docker: a listener of instance changes failed: ${engineMessage(error)}`)
      }
  }
}
