import type { Download } from '../../../web-request/download.ts'
import type { ImageParts } from '../images.ts'
import type { Networks } from '../run/networks.ts'
import type { BaseImages } from './base-images.ts'
import type { BuildCache } from './build-cache.ts'
import type { BuildStages } from './build-stages.ts'

/** What every kind of build works with. */
export interface BuildParts extends ImageParts {
  networks: Networks
  baseImages: BaseImages
  /** Where pages are kept for the edge. */
  artifactsFolder: string
  /** Makes names of kept installs that tell nothing of the variables in them. */
  cacheKey: Uint8Array
  download: Download
  /** The records of BuildKit's cache that builds here have made. */
  cache: BuildCache
  /** The images that the classic builder leaves behind. */
  stages: BuildStages
  /** BuildKit builds each Dockerfile where its steps can be held to limits; else those that need it. */
  prefersBuildKit: boolean
  /** For strangers: nothing is built that cannot be held to limits. */
  isStrict: boolean
}
