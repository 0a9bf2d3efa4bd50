import { readInside } from '../../../../source/read-inside.ts'
import type { BuildRequest } from '../../runtime.ts'
import type { LabelMap } from '../labels.ts'
import type { BuildParts } from './build-parts.ts'
import type { DockerfileBuild } from './dockerfile-build.ts'
import { withLabels } from './needed-stages.ts'
import type { SentFolder } from './send-folder.ts'
import { packSource } from './source-tar.ts'

/** The files of a build, and the Dockerfile as it is built. */
export interface BuildSource extends SentFolder {
  files: ReadonlyMap<string, string>
  dockerfile: string
}

interface Building {
  request: BuildRequest
  parts: BuildParts
  say: (line: string) => void
  abort: AbortSignal
}

/** The classic builder reads the Dockerfile from the context. Named in `.dockerignore`, it removes it before the first step. */
const ownDockerfile = '.berth-dockerfile'
const ignoreFile = '.dockerignore'

/** The project's own was applied when the entries were listed. One that is part of the context stays there, with one line more. */
async function ignoreText(folder: string, entries: BuildSource['entries']): Promise<string> {
  const isThere = entries.some(({ path, type }) => path === ignoreFile && type === 'file')
  const read = isThere ? await readInside(folder, ignoreFile, { maxBytes: 1024 ** 2 }) : null
  return `${read?.text ?? ignoreFile}\n${ownDockerfile}\n`
}

/** The engine's classic builder holds its steps to limits itself, wherever the engine is, on a network of their own. */
export async function buildClassic(
  builder: DockerfileBuild,
  { folder, entries, files, dockerfile }: BuildSource,
  options: Record<string, unknown> & { labels: LabelMap },
  { request, parts, say, abort }: Building,
): Promise<void> {
  say('Building the Dockerfile')
  const { projectId } = request.owner
  // As an option, each label would be a step with a container of its own.
  const { labels, ...others } = options
  const text = withLabels(dockerfile, parts.labels.of('stage', { project: projectId }), labels)
  const theirs = entries.filter(({ path }) => path !== ownDockerfile && path !== ignoreFile)
  const more = new Map([
    [ownDockerfile, text],
    [ignoreFile, await ignoreText(folder, entries)],
  ])
  const tar = packSource({ folder, entries: theirs, prefix: '', makeFirst: [], uid: 0, more, files }, abort)
  const build = parts.stages.begin(projectId)
  builder.onImage = (shortId) => build.saw(shortId)
  try {
    await parts.networks.forBuild((networkmode) => builder.run(tar, { ...others, dockerfile: ownDockerfile, networkmode }))
  } finally {
    await build.end().catch(() => undefined)
  }
}
