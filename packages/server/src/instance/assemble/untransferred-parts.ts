import { registryOf } from '../../drivers/registry/image-name.ts'
import type { createBackups } from '../../modules/backups/index.ts'
import { hooksOf } from '../../modules/deployments/index.ts'
import { allEnvironments, allLinks, findAnyProject, linksTo } from '../../modules/projects/index.ts'
import type { createRegistries } from '../../modules/registries/index.ts'
import type { createTasks } from '../../modules/tasks/index.ts'
import type { Database } from '../../platform/database.ts'
import { projectJson } from '../../platform/db/json-columns/projects.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'

interface UntransferredPartsDeps {
  database: Pick<Database, 'db'>
  backups: Pick<ReturnType<typeof createBackups>, 'policiesOf'>
  registries: Pick<ReturnType<typeof createRegistries>, 'hostsOf'>
  tasks: Pick<ReturnType<typeof createTasks>, 'tasksOf'>
}

/** Messages about parts of a project that a transfer does not include: they belong to this instance, or are created at the target. */
export async function untransferredParts(
  projectId: string,
  { database: { db }, backups, registries, tasks }: UntransferredPartsDeps,
): Promise<string[]> {
  const project = await findAnyProject(db, projectId)
  const environments = (await allEnvironments(db, projectId)).filter(({ slug }) => slug !== 'production')
  const policies = await backups.policiesOf(db, projectId)
  return [
    ...policies.map(
      ({ id, cronExpression }) =>
        `The backup policy ${id}${cronExpression ? ` (${cronExpression})` : ''} is not transferred. Create a backup policy at the target.`,
    ),
    ...environments.map(({ name, pullRequest }) =>
      pullRequest === null
        ? `The environment ${name} is transferred with its variables and without its volumes. Deploy it at the target when you need it.`
        : `The environment of pull request ${pullRequest} is not transferred. The next push creates it again.`,
    ),
    ...(await loginsFor(project, registries)).map(
      ({ host }) =>
        `The registry login for ${host} is not transferred. Add a login at the target, or private images of ${host} cannot be pulled.`,
    ),
    ...(await tasks.tasksOf(db, projectId)).map(
      ({ name, schedule }) => `The scheduled task ${name} (${schedule}) is not transferred. Create it at the target.`,
    ),
    ...(await allLinks(db, projectId)).map(
      ({ host }) => `The link to ${host} is not transferred, and neither are its variables. Link a service at the target.`,
    ),
    ...(await linksTo(db, projectId)).map(
      ({ host }) =>
        `A project on this instance is linked to ${host}, and loses the connection. Delete the link, or link another service.`,
    ),
    ...(await hooksOf(db, projectId)).map(
      ({ name }) =>
        `The deploy hook ${name} is not transferred: its URL belongs to this instance. Create a deploy hook at the target.`,
    ),
    ...(project?.serverId ? ['The project ran on its own server. At the target it runs on the machine of the instance.'] : []),
  ]
}

/** Logins for registries that the project names in its settings. A Dockerfile or Compose file may name more. */
async function loginsFor(project: ProjectRow | undefined, registries: UntransferredPartsDeps['registries']) {
  if (!project) return []
  const services = projectJson.services(project)
  const images = [project.image, project.buildImage, ...services.map(({ image }) => image)].filter((image) => image != null)
  const usedRegistries = new Set(images.map(registryOf))
  return (await registries.hostsOf(project.organizationId)).filter(({ host }) => usedRegistries.has(host))
}
