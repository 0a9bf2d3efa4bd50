import { registryOf } from '../drivers/runtime/image-name.ts'
import type { createBackups } from '../modules/backups/index.ts'
import { hooksOf } from '../modules/deployments/index.ts'
import { allEnvironments, findAnyProject } from '../modules/projects/index.ts'
import type { createRegistries } from '../modules/registries/index.ts'
import type { Database } from '../platform/database.ts'
import type { ProjectRow } from '../platform/db/tables/projects.ts'

interface LeftBehindDeps {
  database: Pick<Database, 'db'>
  backups: Pick<ReturnType<typeof createBackups>, 'policiesOf'>
  registries: Pick<ReturnType<typeof createRegistries>, 'hostsOf'>
}

/** Parts of a project that stay on this instance when it moves: each is bound to the instance or is made anew there. */
export async function leftBehind(
  projectId: string,
  { database: { db }, backups, registries }: LeftBehindDeps,
): Promise<string[]> {
  const project = await findAnyProject(db, projectId)
  const environments = (await allEnvironments(db, projectId)).filter(({ slug }) => slug !== 'production')
  const policies = await backups.policiesOf(db, projectId)
  return [
    ...policies.map(
      ({ id, cronExpression }) =>
        `The backup policy ${id}${cronExpression ? ` (${cronExpression})` : ''} stays with its destination: make one there`,
    ),
    ...environments.map(({ name, pullRequest }) =>
      pullRequest === null
        ? `The environment ${name} comes with its variables and without its volumes: deploy it there when you need it`
        : `The environment of pull request ${pullRequest} stays behind: the next push makes it again`,
    ),
    ...(await loginsFor(project, registries)).map(
      ({ host }) => `The registry login for ${host} stays behind: add one there, or private images of ${host} cannot be fetched`,
    ),
    ...(await hooksOf(db, projectId)).map(
      ({ name }) => `The deploy hook ${name} stays behind: its address is of this instance. Make one there`,
    ),
    ...(project?.serverId ? ['The project ran on a server of its own: there it runs on the machine of the instance'] : []),
  ]
}

/** Logins for registries that the project names in its settings. A Dockerfile or Compose file may name more. */
async function loginsFor(project: ProjectRow | undefined, registries: LeftBehindDeps['registries']) {
  if (!project) return []
  const services = JSON.parse(project.services) as { image?: string | null }[]
  const images = [project.image, project.buildImage, ...services.map(({ image }) => image)].filter((image) => image != null)
  const named = new Set(images.map(registryOf))
  return (await registries.hostsOf(project.organizationId)).filter(({ host }) => named.has(host))
}
