import type { Download } from '../../web-request/download.ts'
import { type Artifact, BuildFailed, type BuildRequest, type OutputLine } from '../runtime.ts'
import type { BaseImages } from './base-images.ts'
import { buildDockerfile } from './build-dockerfile.ts'
import { buildStack } from './build-stack.ts'
import { buildStatic } from './build-static.ts'
import type { ImageParts } from './images.ts'
import type { Networks } from './networks.ts'

export interface BuildParts extends ImageParts {
  networks: Networks
  baseImages: BaseImages
  /** Where pages are kept for the edge. */
  artifactsFolder: string
  /** Makes names of kept installs that tell nothing of the variables in them. */
  cacheKey: Uint8Array
  download: Download
}

export async function buildHere(
  request: BuildRequest,
  onLine: (line: OutputLine) => void,
  abort: AbortSignal,
  parts: BuildParts,
): Promise<Artifact> {
  const { kind, rootDirectory } = request.plan
  if (rootDirectory.split('/').includes('..')) throw new BuildFailed('bad_plan', 'The root directory leads out of the project')
  if (kind === 'static' || kind === 'none') return buildStatic(request, onLine, abort, parts)
  return kind === 'dockerfile' ? buildDockerfile(request, onLine, abort, parts) : buildStack(request, onLine, abort, parts)
}
