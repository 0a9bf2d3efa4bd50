import { isImageId } from '../../../drivers/registry/image-name.ts'
import type { BuildPlan } from '../../../drivers/runtime/build-plan.ts'
import type { Artifact } from '../../../drivers/runtime/runtime.ts'
import { BuildFailed } from '../../../drivers/runtime/runtime-errors.ts'
import { ProgressDeadline } from '../../../platform/progress-deadline.ts'
import { DeployFailed } from '../deploy-failed.ts'
import { type DeployPlan, deployedConfig, planOf, type Unit } from '../plan/deployed.ts'
import { withSecrets } from '../plan/snapshot.ts'
import { secretKeysOf } from '../project-scrubbers.ts'
import type { DeployStep, StepContext } from '../step.ts'
import { transitionDeployment, updateDeployment } from '../store.ts'
import { planWithFiles } from './add-files.ts'
import { sourceFolder } from './fetch-source.ts'
import { writeSiteRules } from './write-site-rules.ts'

const buildLimitMs = 30 * 60_000

/** Builds each unit. Each artifact is recorded at once, so that a restarted control plane does not build it again. */
export const build: DeployStep = {
  name: 'build',
  onServer: true,
  deadlineMs: 60 * 60_000,
  isDone: ({ deployment }) => deployment.artifacts !== null,
  async run(deploying) {
    const { deployment, deps } = deploying
    const plan = planOf(deployment)
    const { units, siteRules } = plan
    const artifacts: Record<string, Artifact> = {}
    for (const unit of units) {
      const artifact = await buildUnit(withSecrets(unit, deploying.env), deploying)
      artifacts[unit.service] = artifact
      if (artifact.kind === 'static')
        for (const warning of await writeSiteRules(artifact, siteRules)) deploying.log.line(`Warning: ${warning}`)
    }
    const sizeBytes = Object.values(artifacts).reduce((sum, artifact) => sum + artifact.sizeBytes, 0)
    const changes = {
      artifacts: JSON.stringify(artifacts),
      sizeBytes,
      plan: JSON.stringify(withImage(plan, artifacts, deploying)),
    }
    await updateDeployment(deps.database.db, deployment.id, changes)
    return { ...deployment, ...changes }
  },
}

/** Completes the plan of an image project after the pull: the image digest, and the port that the image exposes. */
function withImage(plan: DeployPlan, artifacts: Record<string, Artifact>, { deployment }: StepContext): DeployPlan {
  const { image, portChosen, port } = deployedConfig(deployment)
  const artifact = artifacts['']
  if (!image || !artifact) return plan
  const exposedPorts = artifact.exposedPorts ?? []
  const exposedPort = preferredPorts.find((preferred) => exposedPorts.includes(preferred)) ?? exposedPorts[0]
  const listenPort = portChosen ? port : (exposedPort ?? port)
  const units = plan.units.map((unit) => ({ ...unit, image: artifact.reference, port: unit.port === null ? null : listenPort }))
  return { ...plan, units }
}

/** Preferred ports for an image that exposes several. */
const preferredPorts = [80, 8080, 3000]

async function buildUnit(unit: Unit, deploying: StepContext): Promise<Artifact> {
  const hasFiles = (unit.files ?? []).length > 0
  const base = await buildBase(unit, hasFiles ? `${unit.service}.base` : unit.service, deploying)
  const plan = hasFiles ? await planWithFiles(unit, base, deploying) : null
  return plan ? runBuild(plan, unit.service, deploying) : base
}

async function buildBase(unit: Unit, name: string, deploying: StepContext): Promise<Artifact> {
  if (unit.build) return runBuild(unit.build, name, deploying)
  if (!unit.image) throw new DeployFailed('plan_failed', `The service ${unit.service} has neither an image nor a build`)
  if (isImageId(unit.image)) await refuseImageId(unit.service, deploying)
  return isImageId(unit.image) ? imageArtifact(unit.image) : fetchImage(unit.image, deploying)
}

const imageArtifact = (reference: string): Artifact => ({ kind: 'image', reference, sizeBytes: 0, startCommand: null })

/** Pulls the image. An image project runs the digest that its tag points to now; a service runs the local image of that name. */
async function fetchImage(image: string, { deployment, project, deps, log, abort }: StepContext): Promise<Artifact> {
  const runtime = deps.runtimes.for(deployment.serverId)
  if (!runtime.fetchImage) return imageArtifact(image)
  const config = deployedConfig(deployment)
  const isImageProject = Boolean(config.image)
  const request = {
    owner: ownerOf({ deployment }),
    image,
    alwaysPull: isImageProject,
    registryLogins: await deps.registries.loginsOf(project.organizationId),
  }
  try {
    const artifact = await runtime.fetchImage(request, ({ message, stream }) => log.line(message, stream), abort)
    return isImageProject ? { ...artifact, startCommand: config.startCommand } : artifact
  } catch (error) {
    if (error instanceof BuildFailed) throw new DeployFailed('image_failed', error.message, error.logTail)
    throw error
  }
}

/**
 * Rejects an image id, which could name an image of another project. Only an adopted service on its organisation's own server may
 * use one.
 */
async function refuseImageId(service: string, { deployment, deps }: StepContext): Promise<void> {
  const { serverId, projectId } = deployment
  if (serverId !== null && (await deps.oldContainers.containers?.isAdopted(projectId, service))) return
  throw new DeployFailed(
    'plan_failed',
    `The service ${service} names its image by an id. Use a name and a tag, such as nginx:1.29.`,
  )
}

async function runBuild(plan: BuildPlan, service: string, deploying: StepContext): Promise<Artifact> {
  const { deployment, project, deps, env, log, abort } = deploying
  const { resources } = deployedConfig(deployment)
  if (plan.kind !== 'dockerfile' && !plan.installCommand && !plan.buildCommand) log.line('Nothing to install or to build')
  using deadline = new ProgressDeadline(deps.settings.buildSilentSeconds * 1000, abort)
  try {
    return await deps.runtimes.for(deployment.serverId).build(
      {
        owner: ownerOf(deploying),
        organizationId: project.organizationId,
        service,
        sourceFolder: sourceFolder(deploying),
        plan,
        secrets: env,
        secretKeys: await secretKeysOf(deployment, deps),
        resources: resources.build,
        timeoutMs: buildLimitMs,
        registryLogins: await deps.registries.loginsOf(project.organizationId),
      },
      ({ message, stream }) => {
        deadline.progress()
        log.line(message, stream)
      },
      deadline.signal,
    )
  } catch (error) {
    if (deadline.isOver && !abort.aborted)
      throw new DeployFailed('timed_out', silentBuildMessage(deps.settings.buildSilentSeconds))
    if (error instanceof BuildFailed) throw new DeployFailed(`build_${error.code}`, error.message, error.logTail)
    throw error
  }
}

const silentBuildMessage = (seconds: number) =>
  `The build was stopped: it wrote no output for ${seconds} s. Let it print its progress, or raise BERTH_BUILD_SILENT_SECONDS.`

export const ownerOf = ({ deployment }: Pick<StepContext, 'deployment'>) => ({
  projectId: deployment.projectId,
  deploymentId: deployment.id,
  environment: deployment.environment,
})

/** Moves the deployment to `deploying`: the artifacts are started next, then traffic is switched. */
export const beginDeploying = ({ deployment, deps }: StepContext) =>
  transitionDeployment(deps.database.db, deployment.id, 'deploying')
