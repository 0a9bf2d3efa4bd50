import { deploymentJson } from '../../../platform/db/json-columns/deployments.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import { findAnyProject, type OpenedEnv, UnresolvedVariable } from '../../projects/index.ts'
import { DeployFailed } from '../deploy-failed.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { secretKeysOf } from '../project-scrubbers.ts'
import { updateDeployment } from '../store.ts'
import { isFromFork, type Unit } from './deployed.ts'
import { placeholder, placeholders } from './placeholder.ts'

/** A deployment's copy of its project's source and variables, so that a rollback runs with the values of its time. */

/** The variables of a deployment: read once, stored sealed, and used again by each restart and rollback. */
export const envOf = async (deployment: DeploymentRow, deps: DeploymentsDeps): Promise<Record<string, string>> =>
  (await loadEnv(deployment, deps)).env

/** Reads the variables on the first call, stores them in the row, and returns both. */
export async function loadEnv(
  deployment: DeploymentRow,
  deps: DeploymentsDeps,
): Promise<{ deployment: DeploymentRow; env: Record<string, string> }> {
  const sealContext = sealedFor.deploymentEnv(deployment.id)
  if (deployment.env) {
    const values = deploymentJson.env(deps.secretBox.open(deployment.env, sealContext).reveal(), deployment.id)
    deps.scrubber.register(...(await secretKeysOf(deployment, deps)).map((key) => values[key]))
    return { deployment, env: values }
  }
  // Read before the variables: a change in between then shows as pending, never as applied.
  const envVersion = (await findAnyProject(deps.database.db, deployment.projectId))?.envVersion ?? null
  const { values, secretKeys } = await openEnv(deployment, deps)
  const stored = {
    env: deps.secretBox.seal(JSON.stringify(values), sealContext),
    envSecretKeys: JSON.stringify(secretKeys),
    envVersion: deployment.environment === 'production' ? envVersion : null,
  }
  await updateDeployment(deps.database.db, deployment.id, stored)
  // The scrubber must know the secrets before anything can print them.
  await deps.scrubbers.refresh(deployment.projectId)
  return { deployment: { ...deployment, ...stored }, env: values }
}

async function openEnv(deployment: DeploymentRow, deps: DeploymentsDeps): Promise<OpenedEnv> {
  const options = { fromFork: isFromFork(deployment) }
  try {
    return await deps.projects.openResolvedEnv(deployment.projectId, deployment.environment, options)
  } catch (error) {
    if (error instanceof UnresolvedVariable) throw new DeployFailed('variable_unresolved', error.message, [], { cause: error })
    throw error
  }
}

/**
 * Replaces secret values with placeholders: a plan is stored unsealed. `withSecrets` inserts the values when the plan is executed.
 */
export const withPlaceholders = (
  values: Readonly<Record<string, string>>,
  secretKeys: readonly string[],
): Record<string, string> =>
  Object.fromEntries(
    // Compose files often treat an empty value as unset, and it reveals nothing.
    Object.entries(values).map(([key, value]) => [key, value !== '' && secretKeys.includes(key) ? placeholder(key) : value]),
  )

const fillPlaceholders = (text: string, env: Readonly<Record<string, string>>) =>
  text.replace(placeholders, (_, name: string) => env[name] ?? '')

/** Replaces the placeholders in a unit with their values. */
export function withSecrets(unit: Unit, env: Readonly<Record<string, string>>): Unit {
  const fillList = (list: string[] | null) => list?.map((word) => fillPlaceholders(word, env)) ?? null
  const fillRecord = (record: Record<string, string>) =>
    Object.fromEntries(Object.entries(record).map(([key, value]) => [key, fillPlaceholders(value, env)]))
  return {
    ...unit,
    image: unit.image === null ? null : fillPlaceholders(unit.image, env),
    command: fillList(unit.command),
    entrypoint: fillList(unit.entrypoint),
    environment: fillRecord(unit.environment),
    build: unit.build && { ...unit.build, buildArguments: fillRecord(unit.build.buildArguments) },
    ...(unit.inlineFiles
      ? { inlineFiles: unit.inlineFiles.map((file) => ({ ...file, content: fillPlaceholders(file.content, env) })) }
      : {}),
    ...(unit.healthProgram ? { healthProgram: { ...unit.healthProgram, argv: fillList(unit.healthProgram.argv) ?? [] } } : {}),
  }
}
