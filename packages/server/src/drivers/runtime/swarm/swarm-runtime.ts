import { createDockerRuntime, type DockerRuntimeSettings } from '../docker/docker-runtime.ts'
import { openEngine } from '../docker/engine.ts'
import { SubnetAllocator } from '../docker/subnet-allocator.ts'
import type { Instance, InstanceChange, Runtime } from '../runtime.ts'
import { ServiceControl } from './service-control.ts'
import { ServiceRestarts } from './service-restarts.ts'
import { SharedNetwork } from './shared-network.ts'
import { readSwarmNode, type SwarmNode } from './swarm-node.ts'

export type SwarmRuntimeSettings = Omit<DockerRuntimeSettings, 'engine' | 'openControl'> & { socketPath: string }

/**
 * Runs projects as services of a swarm whose manager is the engine of this machine. Builds, images and volumes are those of the
 * Docker runtime on the same engine.
 */
export function createSwarmRuntime(settings: SwarmRuntimeSettings): Runtime & { node(abort: AbortSignal): Promise<SwarmNode> } {
  const engine = openEngine(settings.socketPath)
  let opened: ServiceControl | undefined
  const docker = createDockerRuntime({
    ...settings,
    engine,
    openControl(parts) {
      const network = new SharedNetwork(engine, parts.labels, new SubnetAllocator(engine, settings.addresses), parts.egressFilter)
      opened = new ServiceControl({ ...parts, network })
      return opened
    },
  })
  const listeners = new Set<(change: InstanceChange) => void>()
  const report = (instance: Instance) => {
    const reason = 'It runs again after a restart, at another address'
    for (const listener of listeners) listener({ instance, kind: 'moved', reason })
  }
  const restarts = new ServiceRestarts(opened as ServiceControl, report)
  let isWatching = false
  const watch = () => {
    if (isWatching) return
    isWatching = true
    const scan = () => void restarts.scan().catch(() => undefined)
    docker.onChange(({ instance }) => restarts.consider(instance))
    docker.onReconnect?.(scan)
    scan()
  }
  const { joinLink: _joinLink, removeLink: _removeLink, ...rest } = docker
  return {
    ...rest,
    get isolation() {
      return { kind: 'docker' as const, message: docker.isolation.message.replace(/^Docker:/, 'Docker Swarm:') }
    },
    node: (abort) => readSwarmNode(engine, abort),
    refusesServices:
      'needs a network of its own, which projects in a swarm do not have yet. Set BERTH_RUNTIME to docker, or move the project to a server (serverId)',
    async check(abort) {
      const found = await docker.check(abort)
      await readSwarmNode(engine, abort)
      return found
    },
    async start(request, abort) {
      watch()
      return docker.start(request, abort)
    },
    async stop(instanceId, options, abort) {
      restarts.forget(instanceId)
      await docker.stop(instanceId, options, abort)
    },
    onChange(listener) {
      watch()
      listeners.add(listener)
      const unlisten = docker.onChange(listener)
      return () => {
        listeners.delete(listener)
        unlisten()
      }
    },
    async close() {
      restarts.close()
      await docker.close()
    },
  }
}
