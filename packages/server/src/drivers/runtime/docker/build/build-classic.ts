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

interface ClassicBuildContext {
  request: BuildRequest
  parts: BuildParts
  report: (line: string) => void
  abort: AbortSignal
}

/** Name of the rewritten Dockerfile in the build context. Listed in `.dockerignore`, it is removed before the first step. */
const rewrittenDockerfile = '.berth-dockerfile'
const ignoreFile = '.dockerignore'

/** Content of `.dockerignore`: the project's own file, if it is in the context, with the rewritten Dockerfile added. */
async function ignoreFileText(folder: string, entries: BuildSource['entries']): Promise<string> {
  const hasIgnoreFile = entries.some(({ path, type }) => path === ignoreFile && type === 'file')
  const existing = hasIgnoreFile ? await readInside(folder, ignoreFile, { maxBytes: 1024 ** 2 }) : null
  return `${existing?.text ?? ignoreFile}\n${rewrittenDockerfile}\n`
}

/** Builds with the engine's classic builder. It limits its steps itself. The build has its own network. */
export async function buildClassic(
  builder: DockerfileBuild,
  { folder, entries, files, dockerfile }: BuildSource,
  options: Record<string, unknown> & { labels: LabelMap },
  { request, parts, report, abort }: ClassicBuildContext,
): Promise<void> {
  report('Building the Dockerfile')
  const { projectId } = request.owner
  // As an option, each label would be a step with its own container.
  const { labels, ...otherOptions } = options
  const text = withLabels(dockerfile, parts.labels.of('stage', { project: projectId }), labels)
  const projectEntries = entries.filter(({ path }) => path !== rewrittenDockerfile && path !== ignoreFile)
  const addedTexts = new Map([
    [rewrittenDockerfile, text],
    [ignoreFile, await ignoreFileText(folder, entries)],
  ])
  const tar = packSource({ folder, entries: projectEntries, prefix: '', folders: [], uid: 0, texts: addedTexts, files }, abort)
  const build = parts.stages.startBuild(projectId)
  builder.onImage = (shortId) => build.addImage(shortId)
  try {
    await parts.networks.withBuildNetwork((networkmode) =>
      builder.run(tar, { ...otherOptions, dockerfile: rewrittenDockerfile, networkmode }),
    )
  } finally {
    await build.end().catch(() => undefined)
  }
}
