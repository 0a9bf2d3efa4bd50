import { Failure } from '../../platform/failure.ts'
import type { GitEventsDeps, ProjectRow } from './deps.ts'

/**
 * Runs the action for each project; a failing project does not affect the others. A `Failure` is permanent and only logged; other
 * errors are thrown, so that the job retries.
 */
export async function forEachProject(
  projects: readonly ProjectRow[],
  deps: GitEventsDeps,
  act: (project: ProjectRow) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = []
  await Promise.all(
    projects.map((project) =>
      act(project).catch((error: unknown) => {
        if (error instanceof Failure) logRefusal(project.id, error, deps)
        else failures.push(error)
      }),
    ),
  )
  if (failures.length > 0) throw failures[0]
}

export const logRefusal = (projectId: string, { message }: Failure, { log }: Pick<GitEventsDeps, 'log'>): void =>
  log.info({ projectId, message }, 'git-events: delivery not applied to a project')
