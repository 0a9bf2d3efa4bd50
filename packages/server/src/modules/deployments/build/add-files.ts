import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Artifact, BuildPlan } from '../../../drivers/runtime/runtime.ts'
import type { ProjectFiles, Unit } from '../plan/deployed.ts'
import { plainDockerfile } from '../plan/plan.ts'
import type { Deploying } from '../step.ts'
import { sourceFolder } from './fetch-source.ts'

/**
 * Compose would mount files of the project's folder. Here that folder is gone after the build, and a rollback wants those of
 * its time: so they become a layer on the service's image.
 */
export async function planWithFiles(unit: Unit, base: Artifact, deploying: Deploying): Promise<BuildPlan | null> {
  const lines: string[] = []
  for (const file of unit.files ?? []) {
    const found = await stat(join(sourceFolder(deploying), file.from)).catch(() => null)
    if (!found)
      deploying.log.line(`Warning: ${unit.service}: ${file.from} does not exist in the project; ${file.to} is not mounted`)
    else lines.push(copyLine(file, found.isDirectory()))
    if (found && !file.readOnly)
      deploying.log.line(`Warning: ${unit.service}: data written to ${file.to} is lost on restart. Use a volume.`)
  }
  return lines.length === 0 ? null : { ...plainDockerfile, dockerfileText: `FROM ${base.reference}\n${lines.join('\n')}\n` }
}

/** A folder's content goes into the folder that is named, as a mount would show it. */
export const copyLine = ({ from, to }: Pick<ProjectFiles, 'from' | 'to'>, isFolder: boolean): string =>
  `COPY ${JSON.stringify(isFolder ? [`./${from}/`, `${to.replace(/\/+$/, '')}/`] : [`./${from}`, to])}`
