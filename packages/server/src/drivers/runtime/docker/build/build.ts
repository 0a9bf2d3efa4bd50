import type { Artifact, BuildRequest, OutputLine } from '../../runtime.ts'
import { BuildFailed } from '../../runtime-errors.ts'
import { asBuildFailure } from '../images.ts'
import { buildDockerfile } from './build-dockerfile.ts'
import type { BuildParts } from './build-parts.ts'
import { buildStack } from './build-stack.ts'
import { buildStatic } from './build-static.ts'

export async function buildArtifact(
  request: BuildRequest,
  onLine: (line: OutputLine) => void,
  abort: AbortSignal,
  parts: BuildParts,
): Promise<Artifact> {
  const { kind, rootDirectory } = request.plan
  if (rootDirectory.split('/').includes('..')) throw new BuildFailed('bad_plan', 'The root directory is outside the project')
  const build = kind === 'static' || kind === 'none' ? buildStatic : kind === 'dockerfile' ? buildDockerfile : buildStack
  return build(request, onLine, abort, parts).catch((error: unknown) => {
    throw asBuildFailure(error)
  })
}
