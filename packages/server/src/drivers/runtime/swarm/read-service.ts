import type { ContainerInspectInfo } from 'dockerode'
import { callEngine, callEngineOrMissing, type Engine, listenerOf } from '../docker/engine.ts'
import { labelIn, ownerIn } from '../docker/labels.ts'
import { containerName } from '../docker/run/container-settings.ts'
import { type InspectParts, toInstance } from '../docker/run/instances.ts'
import { endReason, type InstanceEnd } from '../instance-end.ts'
import { type RestartPolicy, shouldRestart } from '../restart-policy.ts'
import type { Instance } from '../runtime.ts'
import { withoutVariables } from './secret-variables.ts'

export interface ServiceRow {
  ID: string
  Version: { Index: number }
  Spec: {
    Name: string
    Labels?: Record<string, string>
    TaskTemplate: {
      ForceUpdate?: number
      Networks?: { Target?: string }[]
      ContainerSpec?: { Command?: string[]; Args?: string[]; Secrets?: { File?: { Name: string } }[]; StopGracePeriod?: number }
    }
  }
}

export interface TaskRow {
  ID: string
  CreatedAt: string
  Spec: { ForceUpdate?: number }
  Status: {
    State: string
    Timestamp: string
    Message?: string
    Err?: string
    ContainerStatus?: { ContainerID?: string; ExitCode?: number }
  }
}

export interface ReadInstance {
  instance: Instance
  service: ServiceRow
  task: TaskRow | undefined
  /** The program has ended, and its restart policy says that it is to be started again. */
  needsRestart: boolean
}

const policyLabel = 'berth.policy'
const endedTasks = new Set(['complete', 'failed', 'shutdown', 'rejected', 'orphaned', 'remove'])

export const policyLabels = (policy: RestartPolicy) => ({ [policyLabel]: JSON.stringify(policy) })
const policyIn = ({ Spec }: ServiceRow): RestartPolicy => JSON.parse(Spec.Labels?.[policyLabel] ?? '{"name":"no"}')

/** Reads the service of an instance. Undefined if it does not exist, or is another Berth's. */
export async function findService(instanceId: string, { engine, labels }: InspectParts): Promise<ServiceRow | undefined> {
  const found = (await callEngineOrMissing(() => engine.getService(containerName(instanceId)).inspect())) as
    | ServiceRow
    | undefined
  return found && labels.isThisBerth(found.Spec.Labels) ? found : undefined
}

/** Reads an instance: its service, the newest task and the task's container. */
export async function readService(service: ServiceRow, parts: InspectParts): Promise<ReadInstance> {
  const { engine, diskFullMarkers } = parts
  const restarts = service.Spec.TaskTemplate.ForceUpdate ?? 0
  const { task, previous } = await readTasks(service, engine)
  const containerId = task?.Status.ContainerStatus?.ContainerID
  const container = containerId
    ? await callEngineOrMissing((abortSignal) => engine.getContainer(containerId).inspect({ abortSignal }))
    : undefined
  const isDiskFull = diskFullMarkers.has(labelIn(service.Spec.Labels, 'id'))
  // The container of a task that failed before its start is never started.
  const hasStarted = container && !(container.State.Status === 'created' && task && endedTasks.has(task.Status.State))
  const instance: Instance = {
    ...(hasStarted ? toInstance(container, engine, diskFullMarkers) : withoutContainer(service, task, restarts)),
    address: addressIn(container, engine),
    restarts,
  }
  const needsRestart = instance.state === 'exited' && !isDiskFull && shouldRestart(policyIn(service), instance.exitCode, restarts)
  const lastEnd = instance.lastEnd ?? (previous && endOf(previous))
  return {
    instance: {
      ...instance,
      ...programIn(service),
      ...(lastEnd ? { lastEnd } : {}),
      ...(instance.health ? { health: unwrapped(instance.health) } : {}),
      // The restart that follows is counted with the end that caused it, as an engine does.
      ...(needsRestart ? { state: 'restarting' as const, restarts: restarts + 1 } : {}),
    },
    service,
    task,
    needsRestart,
  }
}

async function readTasks(service: ServiceRow, engine: Engine): Promise<{ task?: TaskRow; previous?: TaskRow }> {
  const filters = JSON.stringify({ service: [service.ID] })
  const tasks = (await callEngine((abortSignal) => engine.listTasks({ filters, abortSignal } as object))) as TaskRow[]
  const newestFirst = tasks.toSorted((left, right) => right.CreatedAt.localeCompare(left.CreatedAt))
  const generation = service.Spec.TaskTemplate.ForceUpdate ?? 0
  const isCurrent = ({ Spec }: TaskRow) => (Spec.ForceUpdate ?? 0) === generation
  const [task, previous] = [newestFirst.find(isCurrent), newestFirst.find((one) => !isCurrent(one))]
  return { ...(task ? { task } : {}), ...(previous ? { previous } : {}) }
}

/** An instance whose task has no container: not yet, or no longer. */
function withoutContainer({ Spec }: ServiceRow, task: TaskRow | undefined, restarts: number): Instance {
  const labels = Spec.Labels ?? {}
  const hasEnded = task !== undefined && endedTasks.has(task.Status.State)
  return {
    instanceId: labelIn(labels, 'id'),
    owner: ownerIn(labels),
    service: labelIn(labels, 'service'),
    state: hasEnded ? 'exited' : restarts > 0 ? 'restarting' : 'starting',
    address: null,
    startedAt: null,
    exitCode: hasEnded ? exitCodeOf(task) : null,
    outOfMemory: false,
    restarts,
    ...(hasEnded ? { lastEnd: endOf(task) } : {}),
  }
}

/** The engine reports -1 for a task without an exit code. */
const exitCodeOf = ({ Status }: TaskRow): number | null => {
  const code = Status.ContainerStatus?.ExitCode ?? -1
  return code === -1 ? null : code
}

function endOf(task: TaskRow): InstanceEnd {
  const exitCode = exitCodeOf(task)
  return { at: new Date(task.Status.Timestamp).toISOString(), exitCode, reason: endReason(exitCode) }
}

/** Address at which the engine published the port. It changes with every restart. */
function addressIn(container: ContainerInspectInfo | undefined, engine: Engine): Instance['address'] {
  if (!container?.State.Running) return null
  const published = Object.values(container.NetworkSettings.Ports ?? {}).find((all) => all?.length)?.[0]
  if (!published) return null
  const { HostIp: host, HostPort } = published
  return { host, port: Number(HostPort), ...(host === '127.0.0.1' ? listenerOf(engine) : {}) }
}

function programIn({ Spec }: ServiceRow): { program?: string } {
  const { Command = [], Args = [] } = Spec.TaskTemplate.ContainerSpec ?? {}
  const [program] = withoutVariables([...Command, ...Args])
  return program ? { program } : {}
}

const unwrapped = (health: NonNullable<Instance['health']>) => ({
  ...health,
  program: { ...health.program, argv: withoutVariables(health.program.argv) },
})
