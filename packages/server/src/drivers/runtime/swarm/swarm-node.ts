import { networkInterfaces } from 'node:os'
import { callEngine, type Engine } from '../docker/engine.ts'
import { EngineUnreachable } from '../engine-unreachable.ts'

export interface SwarmNode {
  nodeId: string
  nodes: number
  /** Address at which this node publishes the ports of projects. */
  address: string
}

interface SwarmInfo {
  Swarm?: { NodeID?: string; NodeAddr?: string; LocalNodeState?: string; ControlAvailable?: boolean; Nodes?: number }
}

const loopback = '127.0.0.1'

/** Reads the state of the engine's swarm. Rejects with `EngineUnreachable` if the engine is no manager of a swarm. */
export async function readSwarmNode(engine: Engine, abort?: AbortSignal): Promise<SwarmNode> {
  const { Swarm = {} } = (await callEngine(() => engine.info(), abort ? { abort } : {})) as SwarmInfo
  if (Swarm.LocalNodeState !== 'active' || !Swarm.ControlAvailable || !Swarm.NodeID)
    throw new EngineUnreachable('The Docker engine is not a manager of a swarm', {
      operatorMessage:
        'The Docker engine is not a manager of a swarm. Run `docker swarm init` on its machine, or set BERTH_RUNTIME to docker.',
    })
  return { nodeId: Swarm.NodeID, nodes: Swarm.Nodes ?? 1, address: publishAddress(Swarm.NodeAddr ?? '') }
}

/** Loopback, so that projects are reached through the edge only, unless the engine is in another network namespace. */
function publishAddress(nodeAddress: string): string {
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  return nodeAddress === '' || own.some(({ address }) => address === nodeAddress) ? loopback : nodeAddress
}
