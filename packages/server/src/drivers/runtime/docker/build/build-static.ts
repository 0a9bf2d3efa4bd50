import { createWriteStream } from 'node:fs'
import { cp, lstat, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, posix, relative, sep } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { extract } from 'tar-stream'
import { isGenerated } from '../../../../source/list-source.ts'
import { measureFolder } from '../../../folder/measure-folder.ts'
import { type Artifact, BuildFailed, type BuildRequest, type OutputLine } from '../../runtime.ts'
import type { BuildParts } from './build-parts.ts'
import { prepare, runCommands, workFolder } from './build-stack.ts'

/** Builds in a container and copies the output folder to the disk, from where the edge serves it. */
export async function buildStatic(
  request: BuildRequest,
  onLine: (line: OutputLine) => void,
  abort: AbortSignal,
  parts: BuildParts,
): Promise<Artifact> {
  const { owner, service, plan, allotment: resources } = request
  const target = join(parts.artifactsFolder, [owner.deploymentId, service].filter(Boolean).join('.'))
  const draft = `${target}.draft`
  for (const folder of [draft, target]) await rm(folder, { recursive: true, force: true })
  await mkdir(draft, { recursive: true })
  try {
    if (plan.installCommand || plan.buildCommand) await fromContainer(request, join(draft, 'static'), onLine, abort, parts)
    else await fromSource(request, join(draft, 'static'))
    const { bytes: sizeBytes } = await measureFolder(draft)
    if (sizeBytes > resources.diskMb * 1024 * 1024)
      throw new BuildFailed(
        'disk_full',
        `The pages are ${Math.ceil(sizeBytes / 1024 / 1024)} MB, more than the ${resources.diskMb} MB allowed`,
      )
    const artifact: Artifact = { kind: 'static', reference: join(target, 'static'), sizeBytes, startCommand: null }
    const note = { ...artifact, deploymentId: owner.deploymentId, projectId: owner.projectId }
    await writeFile(join(draft, 'artifact.json'), JSON.stringify(note))
    await rename(draft, target)
    return artifact
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
  }
}

async function fromContainer(
  request: BuildRequest,
  target: string,
  onLine: (line: OutputLine) => void,
  abort: AbortSignal,
  parts: BuildParts,
): Promise<void> {
  const box = await runCommands(await prepare(request, onLine, abort, parts))
  try {
    const output = posix.join(workFolder(request), request.plan.outputDirectory ?? '.')
    await box.guarded(async (signal) => {
      const archive = await box.container.getArchive({ path: `${output}/.`, abortSignal: signal }).catch(() => {
        throw noOutput(request)
      })
      await unpackPages(archive as unknown as AsyncIterable<Uint8Array>, target, request.allotment.diskMb)
    })
  } finally {
    await box.end()
  }
}

async function fromSource({ sourceFolder, plan }: BuildRequest, target: string): Promise<void> {
  const root = await realpath(sourceFolder)
  const real = await realpath(join(root, plan.rootDirectory, plan.outputDirectory ?? '.')).catch(() => null)
  if (!real || (real !== root && !real.startsWith(root + sep))) throw noOutput({ plan })
  await cp(real, target, {
    recursive: true,
    verbatimSymlinks: true,
    filter: async (from) => !isGenerated(relative(real, from)) && !(await lstat(from)).isSymbolicLink(),
  })
}

const noOutput = ({ plan }: Pick<BuildRequest, 'plan'>) =>
  new BuildFailed('bad_plan', `The build did not create the folder ${plan.outputDirectory}. Correct the output directory.`)

/** Keeps files and folders only: a link in the output of a build could point anywhere on this machine. */
async function unpackPages(tar: AsyncIterable<Uint8Array>, target: string, diskMb: number): Promise<void> {
  await mkdir(target, { recursive: true })
  const reader = extract()
  const fed = pipeline(Readable.from(tar), reader)
  fed.catch(() => undefined)
  let left = diskMb * 1024 * 1024
  for await (const entry of reader) {
    const { name, type, size } = entry.header
    const path = join(target, name)
    left -= size ?? 0
    if (left < 0) throw new BuildFailed('disk_full', `The pages are more than the ${diskMb} MB allowed`)
    if (type === 'file' && path.startsWith(target + sep)) {
      await mkdir(dirname(path), { recursive: true })
      await pipeline(Readable.from(entry), createWriteStream(path, { mode: 0o644 }))
    } else entry.resume()
  }
  await fed
}

export async function listStaticArtifacts(folder: string): Promise<(Artifact & { deploymentId: string; projectId: string })[]> {
  const names = await readdir(folder).catch(() => [])
  const found = names.map(async (name) => {
    const note = await readFile(join(folder, name, 'artifact.json'), 'utf8').catch(() => null)
    // The current path: the data folder may have been moved.
    return note === null ? [] : [{ ...JSON.parse(note), reference: join(folder, name, 'static') }]
  })
  return (await Promise.all(found)).flat()
}

export async function removeStaticArtifact({ reference }: Artifact, folder: string): Promise<void> {
  const target = dirname(reference)
  if (dirname(target) === folder) await rm(target, { recursive: true, force: true })
}
