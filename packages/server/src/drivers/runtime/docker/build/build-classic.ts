import { readInside } from '../../../../source/read-inside.ts'
import type { BuildRequest } from '../../runtime.ts'
import type { LabelMap } from '../labels.ts'
import type { BuildParts } from './build-parts.ts'
import type { DockerfileBuild } from './dockerfile-build.ts'
import { withLabels } from './needed-stages.ts'
import type { SentFolder } from './send-folder.ts'
import { packSource } from './source-tar.ts'

/** Files of a build, and the rewritten Dockerfile. */
export interface BuildSource extends SentFolder {
  files: ReadonlyMap<string, string>
  dockerfile: string
}

interface Building {
  request: BuildRequest
  parts: BuildParts
  report: (line: string) => void
  abort: AbortSignal
}

/** Name of the rewritten Dockerfile in the build context. Listed in `.dockerignore`, it is removed before the first step. */
const ownDockerfile = '.berth-dockerfile'
const ignoreFile = '.dockerignore'

/** Content of `.dockerignore`: the project's own file, if it is in the context, with the rewritten Dockerfile added. */
async function ignoreText(folder: string, entries: BuildSource['entries']): Promise<string> {
  const isThere = entries.some(({ path, type }) => path === ignoreFile && type === 'file')
  const read = isThere ? await readInside(folder, ignoreFile, { maxBytes: 1024 ** 2 }) : null
  return `${read?.text ?? ignoreFile}\n${ownDockerfile}\n`
}

/** Builds with the engine's classic builder, which limits its steps itself, on a network of their own. */
export async function buildClassic(
  builder: DockerfileBuild,
  { folder, entries, files, dockerfile }: BuildSource,
  options: Record<string, unknown> & { labels: LabelMap },
  { request, parts, report: say, abort }: Building,
): Promise<void> {
  say('Building the Dockerfile')
  const { projectId } = request.owner
  // As an option, each label would be a step with its own container.
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
