import { type DeploymentChanges, ProjectConfig } from '@berth/contract'
import { deploymentJson } from '../../../platform/db/json-columns/deployments.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { deployedConfig } from '../plan/deployed.ts'
import { findLiveBefore } from '../store.ts'
import { showDeployment } from './show.ts'

/** Compares a deployment with the version of its environment that was live before it. */
export async function changesOf(deployment: DeploymentRow, deps: DeploymentsDeps): Promise<DeploymentChanges> {
  const previous = await findLiveBefore(deps.database.db, deployment)
  if (!previous) return { previous: null, variables: null, settings: [] }
  const { id, number, commit } = showDeployment(previous)
  return {
    previous: { id, number, commit },
    variables: variableChanges(storedEnv(previous, deps), storedEnv(deployment, deps)),
    // The config of an imported deployment has another shape.
    settings:
      previous.importedAt !== null || deployment.importedAt !== null
        ? []
        : settingChanges(deployedConfig(previous), deployedConfig(deployment)),
  }
}

/** The variables of a deployment; undefined if they are not read yet, or already deleted with its artifacts. */
const storedEnv = ({ id, env }: DeploymentRow, { secretBox }: DeploymentsDeps): Readonly<Record<string, string>> | undefined =>
  env === null ? undefined : deploymentJson.env(secretBox.open(env, sealedFor.deploymentEnv(id)).reveal(), id)

type Env = Readonly<Record<string, string>>

export function variableChanges(before: Env | undefined, after: Env | undefined): DeploymentChanges['variables'] {
  if (!before || !after) return null
  const keys = (env: Env) => Object.keys(env).sort()
  return {
    added: keys(after).filter((key) => !Object.hasOwn(before, key)),
    changed: keys(after).filter((key) => Object.hasOwn(before, key) && before[key] !== after[key]),
    removed: keys(before).filter((key) => !Object.hasOwn(after, key)),
  }
}

/** The deployed config also has fields that no user sets. */
const publicSettings: ReadonlySet<string> = new Set(Object.keys(ProjectConfig.properties))

export function settingChanges(before: object, after: object): DeploymentChanges['settings'] {
  const [old, current] = [before, after] as Record<string, unknown>[]
  const names = [...new Set([...Object.keys(old ?? {}), ...Object.keys(current ?? {})])].sort()
  return names
    .filter((name) => publicSettings.has(name))
    .filter((name) => JSON.stringify(old?.[name] ?? null) !== JSON.stringify(current?.[name] ?? null))
    .map((name) => ({ name, from: singleValue(old?.[name]), to: singleValue(current?.[name]) }))
}

/** Objects and lists may contain secrets, such as the environment of a service: only single values are shown. */
const singleValue = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
