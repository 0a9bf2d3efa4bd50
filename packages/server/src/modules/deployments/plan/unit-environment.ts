import type { DeployPlan, Unit } from './deployed.ts'

/** The variables that a unit is started with: its own, and those of the project that are meant for it. */
export function environmentOf(
  { environment, variables }: Pick<Unit, 'environment' | 'variables'>,
  { ownVariables = [] }: Pick<DeployPlan, 'ownVariables'>,
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  const projectVariables = Object.entries(env).filter(
    ([key]) => !ownVariables.includes(key) && (variables?.includes(key) ?? true),
  )
  return { ...environment, ...Object.fromEntries(projectVariables) }
}
