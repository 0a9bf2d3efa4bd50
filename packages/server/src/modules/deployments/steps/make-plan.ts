import { FolderLimitExceeded, folderReader } from '../../../drivers/reader/folder-reader.ts'
import { TooManyWaiting } from '../../../drivers/reader/reader-queue.ts'
import { Failure } from '../../../platform/failure.ts'
import { RootDirectoryError } from '../../../source/detection/root-directory-error.ts'
import { SourceFileError } from '../../../source/detection/source-file-error.ts'
import { sourceFolder } from '../build/fetch-source.ts'
import { DeployFailed } from '../deploy-failed.ts'
import { type DeployedConfig, type DeployPlan, deployedConfig, deployedSource } from '../plan/deployed.ts'
import { applicableWarnings } from '../plan/detection-warnings.ts'
import { planDeployment } from '../plan/plan.ts'
import { needsDocker, PlanRefused } from '../plan/plan-refused.ts'
import { routeWarnings } from '../plan/service-routes.ts'
import { withPlaceholders } from '../plan/snapshot.ts'
import { unsetVariables, unsetVariablesText } from '../plan/unset-variables.ts'
import { volumeWarnings } from '../plan/volume-warnings.ts'
import { secretKeysOf } from '../project-scrubbers.ts'
import type { DeployStep, StepContext } from '../step.ts'
import { updateDeployment } from '../store.ts'

/** Detects how the source is built and run. The plan is stored, so that a rollback runs the same way. */
export const makePlan: DeployStep = {
  name: 'plan',
  deadlineMs: 2 * 60_000,
  isDone: ({ deployment }) => deployment.plan !== null && deployment.artifacts !== null,
  async run(deploying) {
    const { deployment, project, deps, log, abort } = deploying
    const { kind, refusesServices } = deps.runtimes.for(deployment.serverId)
    const config = deployedConfig(deployment)
    const source = deployedSource(deployment)
    try {
      const detected =
        source.kind === 'image'
          ? null
          : await folderReader.detect(sourceFolder(deploying), {
              abort,
              organizationId: project.organizationId,
              variables: await variablesForDetection(deploying),
              // Without containers, a project that can also run without its Dockerfile does so, and one with a start command of
              // its own without its Compose file.
              without: kind === 'docker' ? [] : config.startCommand ? ['dockerfile', 'compose'] : ['dockerfile'],
              ...(config.rootDirectory ? { rootDirectory: config.rootDirectory } : {}),
              ...(config.composePath ? { composePath: config.composePath } : {}),
              ...(config.composeProfiles ? { composeProfiles: config.composeProfiles } : {}),
              ...(config.dockerfilePath ? { dockerfilePath: config.dockerfilePath } : {}),
              ...(config.framework ? { framework: config.framework } : {}),
              ...(config.packageManager ? { packageManager: config.packageManager } : {}),
            })
      for (const { file, says } of detected?.evidence ?? []) log.line(`${file}: ${says}`)
      const warnings = applicableWarnings(detected?.warnings ?? [], config.startCommand)
      for (const warning of warnings) log.line(`Warning: ${warning}`)
      const unset = unsetVariables(detected?.exampleVariables, deploying.env)
      if (unset) log.line(unsetVariablesText(unset))
      const planned = planDeployment(config, detected, Object.keys(deploying.env))
      const plan: DeployPlan = { ...planned, ...(unset ? { unsetVariables: unset } : {}) }
      if (kind === 'process') refuseWithoutDocker(plan)
      if (refusesServices && plan.type === 'services') throw new PlanRefused(`A project with several services ${refusesServices}`)
      for (const line of resourceLines(plan, config)) log.line(line)
      for (const warning of volumeWarnings(config.volumes, plan)) log.line(`Warning: ${warning}`)
      for (const warning of routeWarnings(config.serviceRoutes ?? {}, plan.units)) log.line(`Warning: ${warning}`)
      const changes = { plan: JSON.stringify(plan) }
      await updateDeployment(deps.database.db, deployment.id, changes)
      // A Compose file may request more resources than the settings.
      await deps.database.transaction((transaction) => deps.projects.quotas.refuseOver(transaction, project.organizationId))
      return { ...deployment, ...changes }
    } catch (error) {
      if (
        error instanceof PlanRefused ||
        error instanceof RootDirectoryError ||
        error instanceof SourceFileError ||
        error instanceof FolderLimitExceeded ||
        error instanceof TooManyWaiting
      )
        throw new DeployFailed('plan_failed', error.message)
      if (error instanceof Failure && error.code === 'quota_exceeded') throw new DeployFailed('quota_exceeded', error.message)
      throw error
    }
  },
}

/** Log lines that name the services without limits in the Compose file: they get the limits of the project. */
function resourceLines({ type, units, ownResources = {} }: DeployPlan, { resources }: DeployedConfig): string[] {
  if (type !== 'services') return []
  const { cpuCores, memoryMb } = resources.production
  const lines = [['cpuCores', `${cpuCores} CPU`] as const, ['memoryMb', `${memoryMb} MB of memory`] as const]
  return lines.flatMap(([resource, text]) => {
    const names = units.filter(({ service }) => ownResources[service]?.[resource] === undefined).map(({ service }) => service)
    return names.length > 0 ? [`${names.join(', ')}: ${text} each, from the resources of the project`] : []
  })
}

/** Rejects plans that need containers before anything is built. */
function refuseWithoutDocker({ type, units }: DeployPlan): void {
  if (type === 'services') throw new PlanRefused(needsDocker.services)
  if (units.some(({ image }) => image !== null)) throw new PlanRefused(needsDocker.image)
  if (units.some(({ build }) => build?.kind === 'dockerfile')) throw new PlanRefused(needsDocker.dockerfile)
}

async function variablesForDetection({ deployment, env, deps }: StepContext): Promise<Record<string, string>> {
  return withPlaceholders(env, await secretKeysOf(deployment, deps))
}
