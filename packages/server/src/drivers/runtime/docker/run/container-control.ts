import { StartFailed } from '../../runtime-errors.ts'
import { containerName } from './container-settings.ts'
import { execIn } from './exec.ts'
import type { InstanceControl } from './instance-control.ts'
import {
  type InstanceParts,
  inspectInstance,
  listInstances,
  removeContainer,
  setRestart,
  startInstance,
  stopInstance,
} from './instances.ts'

/** Instances as containers that the engine restarts. */
export function containerControl(parts: InstanceParts): InstanceControl {
  const { engine, networks } = parts
  return {
    start: (request, abort) => startInstance(request, parts, abort),
    setRestart: (instanceId, policy, abort) => setRestart(instanceId, policy, engine, abort),
    async stop(instanceId, graceSeconds, abort, whenEnded) {
      const ended = await stopInstance(instanceId, graceSeconds, parts, abort)
      await whenEnded()
      if (!ended) return
      await removeContainer(instanceId, engine, abort)
      const network = ended.Config.Labels['berth.network']
      if (network) await networks.removeUnused(network)
    },
    inspect: (instanceId) => inspectInstance(instanceId, parts),
    list: () => listInstances(parts),
    containers: async (instanceId) => [containerName(instanceId)],
    async exec(instanceId, command, abort) {
      const found = await inspectInstance(instanceId, parts)
      if (found?.state !== 'running') throw new StartFailed(`The instance ${instanceId} is not running`)
      return execIn(containerName(instanceId), command, parts, abort)
    },
  }
}
