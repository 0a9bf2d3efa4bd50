import { chmod, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { measureFolders } from '../../../folder/measure-folder.ts'
import type { Artifact, BuildRequest } from '../../runtime.ts'
import { BuildFailed } from '../../runtime-errors.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Paths } from './paths.ts'
import { removeTree } from './remove-tree.ts'

/** Turns the result of a build into an artifact. Its record is written atomically. */
export async function finishArtifact(
  request: BuildRequest,
  target: string,
  app: string,
  { paths, sandbox }: { paths: Paths; sandbox: Sandbox },
  tools: readonly string[],
): Promise<Artifact> {
  const { plan, owner, service, resources } = request
  const reference = plan.kind === 'static' ? await staticOutput(request, target, app, paths) : target
  const others = (await readdir(target)).map((name) => join(target, name)).filter((path) => path !== app)
  const sizes = await measureFolders([app, ...others])
  const sizeBytes = sizes.reduce((sum, { bytes }) => sum + bytes, 0)
  if (sizeBytes > resources.diskMb * 1024 * 1024)
    throw new BuildFailed(
      'disk_full',
      `The build output is ${Math.ceil(sizeBytes / 1024 / 1024)} MB; the limit is ${resources.diskMb} MB`,
    )
  const artifact: Artifact = {
    kind: plan.kind === 'static' ? 'static' : 'folder',
    reference,
    sizeBytes,
    startCommand: plan.startCommand,
  }
  const record = {
    ...artifact,
    deploymentId: owner.deploymentId,
    projectId: owner.projectId,
    service,
    rootDirectory: plan.rootDirectory,
    language: plan.language,
    ...(tools.length > 0 ? { tools } : {}),
    seenAt: sandbox.pathInside(app),
    ...(plan.kind === 'static' ? {} : { builtBytes: sizes[0]?.diskBytes }),
  }
  await rm(join(target, 'build.process'), { force: true })
  await writeFile(join(target, 'artifact.json.new'), JSON.stringify(record))
  await rename(join(target, 'artifact.json.new'), join(target, 'artifact.json'))
  return artifact
}

/** Keeps only the output folder, which must lie inside the project. */
async function staticOutput({ plan }: BuildRequest, target: string, app: string, paths: Paths): Promise<string> {
  const outputPath = join(app, plan.rootDirectory, plan.outputDirectory ?? '.')
  const realOutput = await realpath(outputPath).catch(() => null)
  const root = await realpath(app)
  if (!realOutput || (realOutput !== root && !realOutput.startsWith(root + sep)))
    throw new BuildFailed(
      'bad_plan',
      `The build did not create the folder ${plan.outputDirectory}. Correct the output directory.`,
    )
  const output = join(target, 'static')
  await rename(realOutput, output)
  await removeTree(app, paths.of('trash'))
  await chmod(output, 0o755)
  return output
}

export interface ArtifactRecord extends Artifact {
  deploymentId: string
  projectId: string
  service: string
  rootDirectory: string
  /** Absent in older artifacts. */
  language?: string | null
  /** Names of the toolbox tools that the artifact was built with and runs with. */
  tools?: readonly string[]
  /** Path of the artifact in the build's sandbox. Absolute paths that the build stored are valid there. */
  seenAt?: string
  /** Disk usage after the build. Later growth counts as written by the running program. */
  builtBytes?: number
}

export async function readArtifactRecord(folder: string): Promise<ArtifactRecord | null> {
  try {
    return JSON.parse(await readFile(join(folder, 'artifact.json'), 'utf8')) as ArtifactRecord
  } catch {
    return null
  }
}
