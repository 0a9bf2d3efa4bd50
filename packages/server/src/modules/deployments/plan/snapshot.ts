import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import { findAnyProject, type Source } from '../../projects/index.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { secretKeysOf } from '../project-scrubbers.ts'
import { updateDeployment } from '../store.ts'
import type { Unit } from './plan.ts'
import { mark, marks } from './variable-mark.ts'

/** What a deployment keeps of its project: source and variables as they were, so that a rollback runs what ran then. */

/** The source of a deployment, as it was when it was asked for. */
export type DeployedSource =
  | Exclude<Source, { kind: 'git' }>
  | {
      kind: 'git'
      url: string
      branch: string | null
      commit: string | null
      /** Where the commit is, if no branch of the repository has it: a fork's pull request. */
      ref?: string
      /** A stranger wrote it: the repository's credential opens this repository and nothing else that it names. */
      fromFork?: true
    }

/** The variables of its time: read once, sealed with it, and used again by every restart and rollback. */
export async function envOf(deployment: DeploymentRow, deps: DeploymentsDeps): Promise<Record<string, string>> {
  const place = sealedFor.deploymentEnv(deployment.id)
  if (deployment.env) {
    const values = JSON.parse(deps.secretBox.open(deployment.env, place).reveal()) as Record<string, string>
    deps.scrubber.register(...(await secretKeysOf(deployment, deps)).map((key) => values[key]))
    return values
  }
  // Read before the variables: a change in between shows as one that waits, never as one that is in force.
  const envVersion = (await findAnyProject(deps.database.db, deployment.projectId))?.envVersion ?? null
  const { values, secretKeys } = await deps.projects.openEnv(deployment.projectId, deployment.environment)
  deployment.env = deps.secretBox.seal(JSON.stringify(values), place)
  deployment.envSecretKeys = JSON.stringify(secretKeys)
  deployment.envVersion = deployment.environment === 'production' ? envVersion : null
  const { env, envSecretKeys } = deployment
  await updateDeployment(deps.database.db, deployment.id, { env, envSecretKeys, envVersion: deployment.envVersion })
  // Before anything can print them.
  await deps.scrubbers.refresh(deployment.projectId)
  return values
}

/**
 * A plan is kept as it is, while variables are sealed. So where a Compose file asks for a secret one, the plan holds a mark
 * in its place, and the value is put in when the plan is carried out.
 */
export const withMarks = (values: Readonly<Record<string, string>>, secretKeys: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    // An empty value counts as none in many a file, and gives nothing away.
    Object.entries(values).map(([key, value]) => [key, value !== '' && secretKeys.includes(key) ? mark(key) : value]),
  )

const filled = (text: string, env: Readonly<Record<string, string>>) => text.replace(marks, (_, name: string) => env[name] ?? '')

/** The unit with values in the place of marks. */
export function withSecrets(unit: Unit, env: Readonly<Record<string, string>>): Unit {
  const words = (list: string[] | null) => list?.map((word) => filled(word, env)) ?? null
  const pairs = (record: Record<string, string>) =>
    Object.fromEntries(Object.entries(record).map(([key, value]) => [key, filled(value, env)]))
  return {
    ...unit,
    image: unit.image === null ? null : filled(unit.image, env),
    command: words(unit.command),
    entrypoint: words(unit.entrypoint),
    environment: pairs(unit.environment),
    build: unit.build && { ...unit.build, buildArguments: pairs(unit.build.buildArguments) },
    ...(unit.inlineFiles
      ? { inlineFiles: unit.inlineFiles.map((file) => ({ ...file, content: filled(file.content, env) })) }
      : {}),
    ...(unit.healthProgram ? { healthProgram: { ...unit.healthProgram, argv: words(unit.healthProgram.argv) ?? [] } } : {}),
  }
}
