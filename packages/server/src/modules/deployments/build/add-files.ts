import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { BuildPlan } from '../../../drivers/runtime/build-plan.ts'
import type { Artifact } from '../../../drivers/runtime/runtime.ts'
import type { ProjectFiles, Unit } from '../plan/deployed.ts'
import { plainDockerfile } from '../plan/plan.ts'
import type { StepContext } from '../step.ts'
import { sourceFolder } from './fetch-source.ts'

/**
 * Plans an image layer with the files that Compose would mount from the project's folder. The folder is deleted after the build,
 * and a rollback needs the files of its own deployment.
 */
export async function planWithFiles(unit: Unit, base: Artifact, deploying: StepContext): Promise<BuildPlan | null> {
  const lines: string[] = []
  for (const file of unit.files ?? []) {
    const stats = await stat(join(sourceFolder(deploying), file.from)).catch(() => null)
    if (!stats)
      deploying.log.line(`Warning: ${unit.service}: ${file.from} does not exist in the project; ${file.to} is not mounted`)
    else lines.push(copyLine(file, stats.isDirectory()))
    if (stats && !file.readOnly)
      deploying.log.line(`Warning: ${unit.service}: data written to ${file.to} is lost on restart. Use a volume.`)
  }
  return lines.length === 0 ? null : { ...plainDockerfile, dockerfileText: `FROM ${base.reference}\n${lines.join('\n')}\n` }
}

/** The COPY line of a file or folder. Like a mount, the content of a folder is copied into the target folder itself. */
export const copyLine = ({ from, to }: Pick<ProjectFiles, 'from' | 'to'>, isFolder: boolean): string =>
  `COPY ${JSON.stringify(isFolder ? [`./${from}/`, `${to.replace(/\/+$/, '')}/`] : [`./${from}`, to])}`
