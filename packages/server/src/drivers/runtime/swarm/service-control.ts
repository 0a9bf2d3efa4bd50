import { setTimeout as pause } from 'node:timers/promises'
import { KeyedMutex } from '../../../platform/keyed-mutex.ts'
import { callEngine, callEngineOrMissing, statusOf } from '../docker/engine.ts'
import { ensureImage } from '../docker/fetch-image.ts'
import { labelIn } from '../docker/labels.ts'
import { containerSettings } from '../docker/run/container-settings.ts'
import { execIn } from '../docker/run/exec.ts'
import type { InstanceControl } from '../docker/run/instance-control.ts'
import {
  asStartFailure,
  endContainer,
  mountPointsBelow,
  refuseOtherPlatform,
  unprivilegedUserId,
} from '../docker/run/instances.ts'
import { detectRootMapping } from '../docker/run/root-user.ts'
import { startErrorMessage } from '../docker/run/start-error-message.ts'
import type { RestartPolicy } from '../restart-policy.ts'
import type { Instance, StartRequest } from '../runtime.ts'
import { StartFailed } from '../runtime-errors.ts'
import { probeImage } from './probe-image.ts'
import { findService, policyLabels, type ReadInstance, readService, type ServiceRow } from './read-service.ts'
import { commandWithVariables } from './secret-variables.ts'
import { Secrets } from './secrets.ts'
import { serviceSpec } from './service-spec.ts'
import { commandOf, divideVariables, refuseUnsupported, variableCount } from './start-parts.ts'
import { readSwarmNode } from './swarm-node.ts'
import type { SwarmParts } from './swarm-parts.ts'

const startTimeoutMs = 120_000
/** Time that Swarm gets to place a task before its reason for not doing so is reported. */
const placementMs = 15_000
const removeTimeoutMs = 20_000
const pollMs = 50
const maxUpdateTries = 10

/** Instances as services of a swarm, each with one task on this node. */
export class ServiceControl implements InstanceControl {
  readonly #parts: SwarmParts
  readonly #secrets: Secrets
  readonly #starting = new Set<string>()
  /** A second start of an instance waits for the first. */
  readonly #mutex = new KeyedMutex()
  #sweeping: Promise<void> | undefined

  constructor(parts: SwarmParts) {
    this.#parts = parts
    this.#secrets = new Secrets(parts.engine, parts.labels)
  }

  start(request: StartRequest, abort: AbortSignal): Promise<Instance> {
    return this.#mutex.run(request.instanceId, () => this.#start(request, abort), abort)
  }

  async #start(request: StartRequest, abort: AbortSignal): Promise<Instance> {
    const { instanceId } = request
    this.#starting.add(instanceId)
    try {
      await detectRootMapping(this.#parts.engine)
      this.#sweeping ??= this.#removeOrphanedSecrets().catch(() => undefined)
      await this.#sweeping
      const existing = await this.read(instanceId)
      if (existing?.instance.state === 'starting') return await this.untilStarted(instanceId, abort)
      if (existing && existing.instance.state !== 'exited') return existing.instance
      this.#parts.diskFullMarkers.delete(instanceId)
      if (existing) await this.#remove(instanceId)
      return await this.#startNew(request, abort)
    } catch (error) {
      abort.throwIfAborted()
      throw asStartFailure(error)
    } finally {
      this.#starting.delete(instanceId)
    }
  }

  /** Stored as a label of the service: a change of its task's specification would replace the running task. */
  async setRestart(instanceId: string, policy: RestartPolicy): Promise<void> {
    const found = await this.read(instanceId)
    if (!found || found.instance.state === 'exited') return
    await this.#update(instanceId, ({ Spec }) => ({ ...Spec, Labels: { ...Spec.Labels, ...policyLabels(policy) } }))
  }

  async stop(instanceId: string, graceSeconds: number, abort: AbortSignal, whenEnded: () => Promise<void>): Promise<void> {
    const service = await findService(instanceId, this.#parts)
    if (!service) return whenEnded()
    // Also after a crash of the control plane, the end that follows is not taken for one to restart from.
    await this.#update(instanceId, ({ Spec }) => ({ ...Spec, Labels: { ...Spec.Labels, ...policyLabels({ name: 'no' }) } }))
    const own = service.Spec.TaskTemplate.ContainerSpec?.StopGracePeriod
    const seconds = graceSeconds === 0 ? 0 : own ? own / 1e9 : graceSeconds
    for (const id of await this.containers(instanceId)) await endContainer(this.#parts.engine.getContainer(id), seconds, abort)
    await whenEnded()
    await this.#remove(instanceId)
  }

  inspect = async (instanceId: string): Promise<Instance | undefined> => (await this.read(instanceId))?.instance

  list = async (): Promise<Instance[]> => (await this.readAll()).map(({ instance }) => instance)

  async containers(instanceId: string): Promise<string[]> {
    const { engine, labels } = this.#parts
    const filters = labels.filter('instance', { id: instanceId })
    const rows = await callEngine((abortSignal) => engine.listContainers({ all: true, filters, abortSignal }))
    return rows.toSorted((left, right) => left.Created - right.Created).map(({ Id }) => Id)
  }

  async exec(instanceId: string, command: Parameters<InstanceControl['exec']>[1], abort: AbortSignal) {
    const found = await this.read(instanceId)
    const container = found?.task?.Status.ContainerStatus?.ContainerID
    if (found?.instance.state !== 'running' || !container) throw new StartFailed(`The instance ${instanceId} is not running`)
    return execIn(container, { ...command, ...commandWithVariables(command, variableCount(found.service)) }, this.#parts, abort)
  }

  async read(instanceId: string): Promise<ReadInstance | undefined> {
    const service = await findService(instanceId, this.#parts)
    return service && readService(service, this.#parts)
  }

  async readAll(): Promise<ReadInstance[]> {
    return Promise.all((await this.#services()).map((service) => readService(service, this.#parts)))
  }

  /** Starts the program again in a new task. Returns undefined if there is nothing to restart any more. */
  async restart(instanceId: string, abort: AbortSignal): Promise<Instance | undefined> {
    if (!(await this.read(instanceId))?.needsRestart) return undefined
    await this.#update(instanceId, ({ Spec }) => ({
      ...Spec,
      TaskTemplate: { ...Spec.TaskTemplate, ForceUpdate: (Spec.TaskTemplate.ForceUpdate ?? 0) + 1 },
    }))
    try {
      return await this.untilStarted(instanceId, abort)
    } catch (error) {
      if (!isBrokenNetwork(error)) throw error
      await this.#replaceNetwork(instanceId, abort)
      return this.untilStarted(instanceId, abort)
    }
  }

  /** Moves a service whose task was refused to the network's successor. */
  async #replaceNetwork(instanceId: string, abort: AbortSignal): Promise<void> {
    const { address } = await readSwarmNode(this.#parts.engine, abort)
    const service = await findService(instanceId, this.#parts)
    const Target = await this.#parts.network.replace(service?.Spec.TaskTemplate.Networks?.[0]?.Target ?? '', address)
    await this.#update(instanceId, ({ Spec: { TaskTemplate, ...rest } }) => ({
      ...rest,
      TaskTemplate: { ...TaskTemplate, Networks: [{ Target }], ForceUpdate: (TaskTemplate.ForceUpdate ?? 0) + 1 },
    }))
  }

  /** Waits until the program was started. Rejects with `StartFailed` if Swarm reports that it cannot be. */
  async untilStarted(instanceId: string, abort: AbortSignal): Promise<Instance> {
    const startedAt = performance.now()
    for (;;) {
      const found = await this.read(instanceId)
      if (!found) throw new StartFailed('The service was removed while it was started')
      const { instance, task } = found
      if (instance.startedAt !== null) return instance
      const waitedMs = performance.now() - startedAt
      const error = task?.Status.Err
      if (instance.state === 'exited' || (error && waitedMs > placementMs) || waitedMs > startTimeoutMs)
        throw new StartFailed(startErrorMessage(error ?? task?.Status.Message ?? 'Swarm did not start it in time'))
      await pause(pollMs, undefined, { signal: abort })
    }
  }

  async #startNew(request: StartRequest, abort: AbortSignal): Promise<Instance> {
    refuseUnsupported(request)
    const { engine, labels, network } = this.#parts
    const { artifact, owner, service, instanceId, resources, restart } = request
    const user = { projectId: owner.projectId, logins: request.registryLogins ?? [], isGranted: true }
    const image = await ensureImage(artifact.reference, this.#parts, user, () => undefined, abort)
    const info = await callEngine(() => engine.getImage(image).inspect(), { abort })
    refuseOtherPlatform(request, info)
    const node = await readSwarmNode(engine, abort)
    const volumeNames = await this.#prepareVolumes(request, unprivilegedUserId(info.Config?.User), abort)
    const ownLabels = labels.ofOwner('instance', owner, service, { id: instanceId, disk: String(resources.diskMb) })
    const isUnprivileged = labels.isThisBerth(info.Config?.Labels) && unprivilegedUserId(info.Config?.User) !== null
    // By its id, which no registry is asked about.
    const named = { image: info.Id, labels: ownLabels, networks: [], hostPort: null, volumeNames, isUnprivileged }
    const settings = containerSettings(request, named)
    const { hasShell } = await probeImage(settings, this.#parts, abort)
    const { variables, files } = divideVariables(request, settings, hasShell)
    try {
      const spec = serviceSpec({
        ...commandOf(settings, info, files.length),
        ...{ settings, variables, nodeId: node.nodeId, network: await network.ensure(node.address) },
        secrets: await this.#secrets.create(request, files, abort),
        labels: { ...ownLabels, ...policyLabels({ name: restart ? 'always' : 'no' }) },
      })
      await callEngine((abortSignal) => engine.createService({ ...spec, abortSignal } as typeof spec), { abort })
      const instance = await this.untilStarted(instanceId, abort).catch(async (error: unknown) => {
        if (!isBrokenNetwork(error)) throw error
        await this.#replaceNetwork(instanceId, abort)
        return this.untilStarted(instanceId, abort)
      })
      await network.verifyFilter()
      return instance
    } catch (error) {
      await this.#remove(instanceId).catch(() => undefined)
      throw error
    }
  }

  /** Docker's names of the volumes. Empty ones are given to the user that will write to them. */
  async #prepareVolumes(request: StartRequest, user: number | null, abort: AbortSignal): Promise<Map<string, string>> {
    const { volumes } = this.#parts
    const names = new Map<string, string>()
    for (const { id, name } of request.volumes) names.set(id, await volumes.find({ id, name }))
    for (const { id, mountPath, readOnly } of user === null ? [] : request.volumes) {
      const name = names.get(id) ?? id
      // Adopted data keeps its owner.
      if (readOnly || !name.startsWith(id)) continue
      await volumes.changeOwnerOfOuter(name, mountPointsBelow(mountPath, request), user ?? 0, abort)
    }
    return names
  }

  async #update(instanceId: string, change: (service: ServiceRow) => ServiceRow['Spec']): Promise<void> {
    for (let tries = 1; ; tries++) {
      const service = await findService(instanceId, this.#parts)
      if (!service) return
      const body = { ...change(service), version: service.Version.Index }
      try {
        await callEngineOrMissing(() => this.#parts.engine.getService(service.ID).update(body))
        return
      } catch (error) {
        // Swarm changed the service meanwhile.
        if (!/out of sequence/i.test(String(error)) || tries === maxUpdateTries) throw error
      }
    }
  }

  /** Removes the service, its containers and its secrets. */
  async #remove(instanceId: string): Promise<void> {
    const { engine } = this.#parts
    const service = await findService(instanceId, this.#parts)
    if (service) await callEngineOrMissing(() => engine.getService(service.ID).remove())
    const deadline = performance.now() + removeTimeoutMs
    for (;;) {
      const ids = await this.containers(instanceId)
      if (ids.length === 0 || performance.now() > deadline) break
      for (const id of ids)
        await callEngine((abortSignal) => engine.getContainer(id).remove({ force: true, v: true, abortSignal })).catch(
          (error: unknown) => {
            // Swarm removes it as well.
            if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error
          },
        )
      await pause(pollMs)
    }
    await this.#secrets.removeOf(instanceId)
  }

  async #services(): Promise<ServiceRow[]> {
    const { engine, labels } = this.#parts
    const filters = JSON.stringify(labels.filter('instance'))
    return callEngine((abortSignal) => engine.listServices({ filters, abortSignal } as object)) as unknown as Promise<
      ServiceRow[]
    >
  }

  async #removeOrphanedSecrets(): Promise<void> {
    const used = (await this.#services()).map(({ Spec }) => labelIn(Spec.Labels, 'id'))
    await this.#secrets.removeOrphaned(new Set([...used, ...this.#starting]))
  }
}

const isBrokenNetwork = (error: unknown) => error instanceof StartFailed && /network \S+ exists/.test(error.message)
