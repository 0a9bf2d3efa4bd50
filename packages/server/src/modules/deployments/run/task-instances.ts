import type { NetworkRequest, OutputLine, StartRequest } from '../../../drivers/runtime/runtime.ts'
import { StartFailed } from '../../../drivers/runtime/runtime-errors.ts'
import type { Db } from '../../../platform/db/schema.ts'
import { DeployFailed } from '../deploy-failed.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { findLive } from '../live-environments.ts'
import { artifactsOf, type Unit } from '../plan/deployed.ts'
import { envOf, withSecrets } from '../plan/snapshot.ts'
import { findDeployment } from '../store.ts'
import { startLinked } from './link-networks.ts'
import { requestFor, runningUnits, withLogins } from './run-units.ts'
import { volumesFor } from './unit-volumes.ts'

/** The version that a task runs. */
export interface TaskTarget {
  deploymentId: string
  serverId: string | null
}

/** An instance of its own for a command: the caller stores its id before the start, and stops it when the command has ended. */
export interface TaskInstance {
  instanceId: string
  serverId: string | null
}

/** How the command of a task ended. */
export interface TaskEnd {
  exitCode: number | null
  /** Reason of an end without an exit code, or of a kill. */
  reason: string | null
}

/** Runs commands with the live version of an environment, each in an instance of its own. */
export interface TaskInstances {
  /** The live version, or the reason why there is none. */
  findTarget(db: Db, projectId: string, environment: string): Promise<TaskTarget | { reason: string }>
  /** Starts the command with the version's artifact, variables, volumes and limits. Rejects with `TaskNotStarted`. */
  start(instance: TaskInstance, run: { deploymentId: string; command: readonly string[] }, abort: AbortSignal): Promise<void>
  /** Output after a position, scrubbed of the project's secrets. Ends with the instance, or early if the engine is unreachable. */
  output(
    instance: TaskInstance,
    projectId: string,
    after: string | null,
    abort: AbortSignal,
  ): AsyncIterable<OutputLine & { position: string }>
  /** How the command ended; null: it still runs. Undefined: the instance does not exist. */
  findEnd(instance: TaskInstance): Promise<TaskEnd | null | undefined>
  /** Ends and removes the instance. Succeeds if it does not exist. */
  stop(instance: TaskInstance, graceSeconds: number): Promise<void>
}

/** The instance could not be started. The message is for the user. */
export class TaskNotStarted extends Error {
  override readonly name = 'TaskNotStarted'
}

const stopTimeoutMs = 60_000

export const taskInstances = (deps: DeploymentsDeps): TaskInstances => ({
  findTarget,
  start: (instance, run, abort) => startTask(instance, run, deps, abort),
  async *output({ instanceId, serverId }, projectId, after, abort) {
    const scrubber = await deps.scrubbers.of(projectId)
    for await (const line of deps.runtimes.for(serverId).logs(instanceId, after, abort))
      yield { ...line, message: scrubber.scrub(line.message) }
  },
  async findEnd({ instanceId, serverId }) {
    const instance = await deps.runtimes.for(serverId).inspect(instanceId)
    if (!instance) return undefined
    if (instance.state !== 'exited') return null
    const { exitCode, outOfMemory, diskFull } = instance
    const reason = outOfMemory ? 'It exceeded its memory limit' : diskFull ? 'It exceeded its disk limit' : null
    return { exitCode, reason }
  },
  stop: ({ instanceId, serverId }, graceSeconds) =>
    deps.runtimes.for(serverId).stop(instanceId, { graceSeconds }, AbortSignal.timeout(stopTimeoutMs)),
})

async function findTarget(db: Db, projectId: string, environment: string): Promise<TaskTarget | { reason: string }> {
  const live = await findLive(db, projectId, environment)
  const deployment = live?.deploymentId ? await findDeployment(db, live.deploymentId) : undefined
  if (!deployment?.plan || !deployment.artifacts) return { reason: `${environment} has no live deployment. Deploy it first.` }
  if (!unitOf(runningUnits(deployment))) return { reason: 'A static site has no container to run a command in' }
  return { deploymentId: deployment.id, serverId: deployment.serverId }
}

/** The unit that receives requests, else the first one. */
const unitOf = (units: readonly Unit[]): Unit | undefined => units.find(({ exposed }) => exposed) ?? units[0]

async function startTask(
  { instanceId, serverId }: TaskInstance,
  { deploymentId, command }: { deploymentId: string; command: readonly string[] },
  deps: DeploymentsDeps,
  abort: AbortSignal,
): Promise<void> {
  const deployment = await findDeployment(deps.database.db, deploymentId)
  const planned = deployment && unitOf(runningUnits(deployment))
  if (!deployment?.artifacts || !planned) throw new TaskNotStarted('The version that the task runs no longer exists')
  const env = await envOf(deployment, deps)
  const unit = withSecrets(planned, env)
  const context = { deployment, env, artifacts: artifactsOf(deployment), report: () => undefined, abort, deps }
  try {
    const request = requestFor({ id: instanceId }, unit, await volumesFor(unit, context), context)
    await startLinked(await withLogins(request, unit, deps), unit, deployment, context, (linked) =>
      deps.runtimes.for(serverId).start(asTask(linked, command), abort),
    )
  } catch (error) {
    if (error instanceof StartFailed || error instanceof DeployFailed) throw new TaskNotStarted(error.message, { cause: error })
    throw error
  }
}

/** The request for a command instead of the service: it has no port, no health check and no name that traffic is routed to. */
function asTask({ labels: _routing, network, links = [], ...request }: StartRequest, command: readonly string[]): StartRequest {
  return {
    ...request,
    entrypoint: [],
    command: [...command],
    port: null,
    network: network && withoutAliases(network),
    ...(links.length > 0 ? { links: links.map((link) => ({ ...link, aliases: [] })) } : {}),
    healthProgram: null,
    restart: false,
  }
}

const withoutAliases = ({ also: _others, ...network }: NetworkRequest): NetworkRequest => ({
  ...network,
  aliases: [],
  ...(network.parts ? { parts: network.parts.map((part) => ({ ...part, aliases: [] })) } : {}),
})
