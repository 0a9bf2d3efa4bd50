import type { Runtime } from '../runtime.ts'

interface Subscription {
  listener: Parameters<Runtime['onChange']>[0]
  /** Set once the runtime is loaded. */
  unsubscribe?: () => void
}

/** A docker runtime of a server. Its code is loaded on the first call; a call after a failed load loads it again. */
export function lazyRuntime(load: () => Promise<Runtime>): Runtime {
  let loading: Promise<Runtime> | undefined
  let engine: Runtime | undefined
  const subscriptions = new Set<Subscription>()
  const loadOnce = () => {
    loading ??= load().then(
      (runtime) => {
        engine = runtime
        for (const subscription of subscriptions) subscription.unsubscribe = runtime.onChange(subscription.listener)
        return runtime
      },
      (error: unknown) => {
        loading = undefined
        throw error
      },
    )
    return loading
  }
  return {
    kind: 'docker',
    isolation: { kind: 'docker', message: 'Docker on a server: each project runs in its own containers' },
    check: async (...args) => (await loadOnce()).check(...args),
    build: async (...args) => (await loadOnce()).build(...args),
    async fetchImage(...args) {
      const runtime = await loadOnce()
      if (!runtime.fetchImage) throw new Error('The runtime of this server cannot fetch images')
      return runtime.fetchImage(...args)
    },
    start: async (...args) => (await loadOnce()).start(...args),
    joinLink: async (...args) => (await loadOnce()).joinLink?.(...args),
    removeLink: async (...args) => (await loadOnce()).removeLink?.(...args),
    setRestart: async (...args) => (await loadOnce()).setRestart(...args),
    stop: async (...args) => (await loadOnce()).stop(...args),
    inspect: async (...args) => (await loadOnce()).inspect(...args),
    inspectCached: async (...args) => (await loadOnce()).inspectCached(...args),
    list: async () => (await loadOnce()).list(),
    usage: async (...args) => (await loadOnce()).usage(...args),
    async *logs(...args) {
      yield* (await loadOnce()).logs(...args)
    },
    onChange(listener) {
      const subscription: Subscription = { listener }
      subscriptions.add(subscription)
      if (engine) subscription.unsubscribe = engine.onChange(listener)
      // A failure is reported by the next call, which loads again.
      else loadOnce().catch(() => undefined)
      return () => {
        subscriptions.delete(subscription)
        subscription.unsubscribe?.()
      }
    },
    disconnects: () => engine?.disconnects?.() ?? 0,
    removeArtifact: async (...args) => (await loadOnce()).removeArtifact(...args),
    listArtifacts: async () => (await loadOnce()).listArtifacts(),
    removeBuilds: async (...args) => (await loadOnce()).removeBuilds(...args),
    storage: async (...args) => (await loadOnce()).storage(...args),
    clearBuildCache: async (...args) => (await loadOnce()).clearBuildCache(...args),
    createVolume: async (...args) => (await loadOnce()).createVolume(...args),
    volumeSizeBytes: async (...args) => (await loadOnce()).volumeSizeBytes(...args),
    removeVolume: async (...args) => (await loadOnce()).removeVolume(...args),
    async *readVolume(...args) {
      yield* (await loadOnce()).readVolume(...args)
    },
    writeVolume: async (...args) => (await loadOnce()).writeVolume(...args),
    foreign: {
      inspect: async (...args) => (await loadOnce()).foreign?.inspect(...args) ?? null,
      stop: async (...args) => (await loadOnce()).foreign?.stop(...args),
      rollbackTakeover: async (...args) => (await loadOnce()).foreign?.rollbackTakeover(...args),
    },
    exec: async (...args) => (await loadOnce()).exec(...args),
    async close() {
      await loading?.catch(() => undefined)
      await engine?.close()
    },
  }
}
