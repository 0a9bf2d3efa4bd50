import type { ProjectsDeps } from '../deps.ts'
import { allLinks } from '../link-store.ts'
import { type OpenedEnv, openEnv } from '../settings/env.ts'
import { findAnyProject } from '../store.ts'
import { loadScope } from './load-scope.ts'
import { resolveVariables } from './resolve-variables.ts'

/** The variables that a deployment runs with: those of the project and of its links. Throws `UnresolvedVariable`. */
export async function openResolvedEnv(
  projectId: string,
  environment: string,
  deps: ProjectsDeps,
  options: { fromFork?: boolean } = {},
): Promise<OpenedEnv> {
  const resolved = [...resolveVariables(await loadScope(projectId, environment, deps, options))].sort(([left], [right]) =>
    left < right ? -1 : 1,
  )
  const secrets = resolved.filter(([, { isSecret }]) => isSecret)
  deps.scrubber.register(...secrets.map(([, { value }]) => value))
  return {
    values: Object.fromEntries(resolved.map(([key, { value }]) => [key, value])),
    secretKeys: secrets.map(([key]) => key),
  }
}

/** Secrets of the services that the project is linked to, for redaction in its logs. */
export async function openLinkedSecrets(projectId: string, deps: ProjectsDeps): Promise<string[]> {
  const { db } = deps.database
  const secrets: string[] = []
  const serviceIds = new Set((await allLinks(db, projectId)).map(({ serviceProjectId }) => serviceProjectId))
  for (const serviceId of serviceIds) {
    if (!(await findAnyProject(db, serviceId))) continue
    const { values, secretKeys } = await openEnv(serviceId, 'production', deps)
    secrets.push(...secretKeys.map((key) => values[key] as string))
  }
  return secrets
}
