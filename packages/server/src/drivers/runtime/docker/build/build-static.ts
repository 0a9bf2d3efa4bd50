import { createWriteStream } from 'node:fs'
import { cp, lstat, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, posix, relative, sep } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isGenerated } from '../../../../source/list-source.ts'
import { measureFolder } from '../../../folder/measure-folder.ts'
import { readTar } from '../../../tar/read-tar.ts'
import { asText } from '../../../tar/tar-header.ts'
import type { Artifact, BuildRequest, OutputLine } from '../../runtime.ts'
import { BuildFailed } from '../../runtime-errors.ts'
import type { BuildParts } from './build-parts.ts'
import { prepareBuild, runCommands, workFolder } from './build-stack.ts'

/** Builds in a container and copies the output folder to the disk, from where the edge serves it. */
export async function buildStatic(
  request: BuildRequest,
  onLine: (line: OutputLine) => void,
  abort: AbortSignal,
  parts: BuildParts,
): Promise<Artifact> {
  const { owner, service, plan, resources } = request
  const target = join(parts.artifactsFolder, [owner.deploymentId, service].filter(Boolean).join('.'))
  const draft = `${target}.draft`
  for (const folder of [draft, target]) await rm(folder, { recursive: true, force: true })
  await mkdir(draft, { recursive: true })
  try {
    if (plan.installCommand || plan.buildCommand) await buildInContainer(request, join(draft, 'static'), onLine, abort, parts)
    else await copyFromSource(request, join(draft, 'static'))
    const { bytes: sizeBytes } = await measureFolder(draft)
    if (sizeBytes > resources.diskMb * 1024 * 1024)
      throw new BuildFailed(
        'disk_full',
        `The pages are ${Math.ceil(sizeBytes / 1024 / 1024)} MB, more than the ${resources.diskMb} MB allowed`,
      )
    const artifact: Artifact = { kind: 'static', reference: join(target, 'static'), sizeBytes, startCommand: null }
    const metadata = { ...artifact, deploymentId: owner.deploymentId, projectId: owner.projectId }
    await writeFile(join(draft, 'artifact.json'), JSON.stringify(metadata))
    await rename(draft, target)
    return artifact
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
  }
}

async function buildInContainer(
  request: BuildRequest,
  target: string,
  onLine: (line: OutputLine) => void,
  abort: AbortSignal,
  parts: BuildParts,
): Promise<void> {
  const container = await runCommands(await prepareBuild(request, onLine, abort, parts))
  try {
    const output = posix.join(workFolder(request), request.plan.outputDirectory ?? '.')
    await container.withLimits(async (signal) => {
      const archive = await container.container.getArchive({ path: `${output}/.`, abortSignal: signal }).catch(() => {
        throw missingOutput(request)
      })
      await unpackPages(archive as unknown as AsyncIterable<Uint8Array>, target, request.resources.diskMb)
    })
  } finally {
    await container.end()
  }
}

async function copyFromSource({ sourceFolder, plan }: BuildRequest, target: string): Promise<void> {
  const root = await realpath(sourceFolder)
  const outputFolder = await realpath(join(root, plan.rootDirectory, plan.outputDirectory ?? '.')).catch(() => null)
  if (!outputFolder || (outputFolder !== root && !outputFolder.startsWith(root + sep))) throw missingOutput({ plan })
  await cp(outputFolder, target, {
    recursive: true,
    verbatimSymlinks: true,
    filter: async (from) => !isGenerated(relative(outputFolder, from)) && !(await lstat(from)).isSymbolicLink(),
  })
}

const missingOutput = ({ plan }: Pick<BuildRequest, 'plan'>) =>
  new BuildFailed('bad_plan', `The build did not create the folder ${plan.outputDirectory}. Correct the output directory.`)

/** Keeps files and folders only: a link in the output of a build could point anywhere on this machine. */
async function unpackPages(tar: AsyncIterable<Uint8Array>, target: string, diskMb: number): Promise<void> {
  await mkdir(target, { recursive: true })
  let remainingBytes = diskMb * 1024 * 1024
  for await (const { header, content } of readTar(tar)) {
    const path = join(target, asText(header.name))
    remainingBytes -= header.size
    if (remainingBytes < 0) throw new BuildFailed('disk_full', `The pages are more than the ${diskMb} MB allowed`)
    if (header.type === 'file' && path.startsWith(target + sep)) {
      await mkdir(dirname(path), { recursive: true })
      await pipeline(Readable.from(content), createWriteStream(path, { mode: 0o644 }))
    }
  }
}

export async function listStaticArtifacts(folder: string): Promise<(Artifact & { deploymentId: string; projectId: string })[]> {
  const names = await readdir(folder).catch(() => [])
  const found = names.map(async (name) => {
    const metadata = await readFile(join(folder, name, 'artifact.json'), 'utf8').catch(() => null)
    // The current path: the data folder may have been moved.
    return metadata === null ? [] : [{ ...JSON.parse(metadata), reference: join(folder, name, 'static') }]
  })
  return (await Promise.all(found)).flat()
}

export async function removeStaticArtifact({ reference }: Artifact, folder: string): Promise<void> {
  const target = dirname(reference)
  if (dirname(target) === folder) await rm(target, { recursive: true, force: true })
}
