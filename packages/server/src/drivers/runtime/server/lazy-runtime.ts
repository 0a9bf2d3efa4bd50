import type { Runtime } from '../runtime.ts'

/** A docker runtime of a server. Its code is loaded on the first call. */
export function lazyRuntime(load: () => Promise<Runtime>): Runtime {
  let loading: Promise<Runtime> | undefined
  let engine: Runtime | undefined
  const loaded = () => {
    loading ??= load().then((runtime) => {
      engine = runtime
      return runtime
    })
    return loading
  }
  return {
    kind: 'docker',
    survivesStop: true,
    isolation: { kind: 'docker', message: 'Docker on a server: each project runs in its own containers' },
    check: async (...given) => (await loaded()).check(...given),
    build: async (...given) => (await loaded()).build(...given),
    async fetchImage(...given) {
      const runtime = await loaded()
      if (!runtime.fetchImage) throw new Error('A runtime on a server fetches images')
      return runtime.fetchImage(...given)
    },
    start: async (...given) => (await loaded()).start(...given),
    setRestart: async (...given) => (await loaded()).setRestart(...given),
    stop: async (...given) => (await loaded()).stop(...given),
    inspect: async (...given) => (await loaded()).inspect(...given),
    glance: async (...given) => (await loaded()).glance(...given),
    list: async () => (await loaded()).list(),
    usage: async (...given) => (await loaded()).usage(...given),
    async *logs(...given) {
      yield* (await loaded()).logs(...given)
    },
    onChange(listener) {
      let end = () => {}
      let isOver = false
      void loaded().then((runtime) => {
        if (!isOver) end = runtime.onChange(listener)
      })
      return () => {
        isOver = true
        end()
      }
    },
    disconnects: () => engine?.disconnects?.() ?? 0,
    removeArtifact: async (...given) => (await loaded()).removeArtifact(...given),
    listArtifacts: async () => (await loaded()).listArtifacts(),
    removeBuilds: async (...given) => (await loaded()).removeBuilds(...given),
    storage: async (...given) => (await loaded()).storage(...given),
    clearBuildCache: async (...given) => (await loaded()).clearBuildCache(...given),
    createVolume: async (...given) => (await loaded()).createVolume(...given),
    volumeSizeBytes: async (...given) => (await loaded()).volumeSizeBytes(...given),
    removeVolume: async (...given) => (await loaded()).removeVolume(...given),
    async *readVolume(...given) {
      yield* (await loaded()).readVolume(...given)
    },
    writeVolume: async (...given) => (await loaded()).writeVolume(...given),
    foreign: {
      inspect: async (...given) => (await loaded()).foreign?.inspect(...given) ?? null,
      stop: async (...given) => (await loaded()).foreign?.stop(...given),
      rollbackTakeover: async (...given) => (await loaded()).foreign?.rollbackTakeover(...given),
    },
    exec: async (...given) => (await loaded()).exec(...given),
    async close() {
      await (await loading)?.close()
    },
  }
}
