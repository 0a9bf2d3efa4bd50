import type { createBackups } from '../modules/backups/index.ts'
import { allEnvironments, findAnyProject } from '../modules/projects/index.ts'
import type { Database } from '../platform/database.ts'

interface LeftBehindDeps {
  database: Pick<Database, 'db'>
  backups: Pick<ReturnType<typeof createBackups>, 'policiesOf'>
}

/** Parts of a project that stay on this instance when it moves: each is bound to the instance or is made anew there. */
export async function leftBehind(projectId: string, { database: { db }, backups }: LeftBehindDeps): Promise<string[]> {
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
    ...(project?.serverId ? ['The project ran on a server of its own: there it runs on the machine of the instance'] : []),
  ]
}
