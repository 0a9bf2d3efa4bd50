import type { ServerLink } from '../../shell/ssh/server-link.ts'
import { createDockerRuntime, type DockerRuntimeSettings } from '../docker/docker-runtime.ts'
import { openEngineThrough } from '../docker/engine.ts'
import type { Instance, Runtime } from '../runtime.ts'
import { linkAgent } from './link-agent.ts'
import { Tunnels } from './tunnels.ts'

export type ServerRuntimeSettings = Omit<DockerRuntimeSettings, 'engine' | 'egressFilter'> & { link: ServerLink }

const maxRoutesBytes = 1024 ** 2
const routesTimeoutMs = 10_000

/** Runs projects in the Docker engine of a server: the docker runtime over SSH, with instances reached through tunnels. */
export function createServerRuntime({ link, ...settings }: ServerRuntimeSettings): Runtime {
  const readRoutes = async () =>
    (await link.files.read('/proc/net/route', maxRoutesBytes, AbortSignal.timeout(routesTimeoutMs))).toString('latin1')
  const addresses = { ...settings.addresses, readRoutes }
  const docker = createDockerRuntime({
    ...settings,
    addresses,
    engine: openEngineThrough(linkAgent(link)),
    egressFilter: null,
  })
  const tunnels = new Tunnels(link)
  const withTunnel = async (instance: Instance): Promise<Instance> => {
    const { instanceId, address } = instance
    if (!address) await tunnels.close(instanceId)
    return address ? { ...instance, address: await tunnels.open(instanceId, address) } : instance
  }
  const withTunnelIfFound = async (instanceId: string, instance: Instance | undefined): Promise<Instance | undefined> => {
    if (!instance) await tunnels.close(instanceId)
    return instance && withTunnel(instance)
  }
  return {
    ...docker,
    isolation: { kind: 'docker', message: 'Docker on a server: each project runs in its own containers' },
    start: async (request, abort) => withTunnel(await docker.start(request, abort)),
    async stop(instanceId, options, abort) {
      await docker.stop(instanceId, options, abort)
      await tunnels.close(instanceId)
    },
    inspect: async (instanceId) => withTunnelIfFound(instanceId, await docker.inspect(instanceId)),
    inspectCached: async (instanceId) => withTunnelIfFound(instanceId, await docker.inspectCached(instanceId)),
    list: async () => Promise.all((await docker.list()).map(withTunnel)),
    onChange: (listener) =>
      docker.onChange((change) => {
        withTunnel(change.instance).then(
          (instance) => listener({ ...change, instance }),
          () => listener(change),
        )
      }),
    async close() {
      await docker.close()
      await tunnels.closeAll()
    },
  }
}
