import { Failure } from '../../platform/failure.ts'
import type { GitEventsDeps, ProjectRow } from './deps.ts'

/** One project that cannot is in no other one's way. What it refuses, it refuses the next time too; the rest is tried again. */
export async function forEachProject(
  projects: readonly ProjectRow[],
  { log }: GitEventsDeps,
  act: (project: ProjectRow) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = []
  await Promise.all(
    projects.map((project) =>
      act(project).catch((error: unknown) => {
        if (error instanceof Failure)
          log.info({ projectId: project.id, words: error.message }, 'a project did not follow its git host')
        else failures.push(error)
      }),
    ),
  )
  if (failures.length > 0) throw failures[0]
}
