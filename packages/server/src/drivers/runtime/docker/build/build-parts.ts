import type { Download } from '../../../web-request/download.ts'
import type { ImageParts } from '../images.ts'
import type { Networks } from '../run/networks.ts'
import type { BaseImages } from './base-images.ts'
import type { BuildCache } from './build-cache.ts'
import type { BuildStages } from './build-stages.ts'

/** Dependencies of all kinds of builds. */
export interface BuildParts extends ImageParts {
  networks: Networks
  baseImages: BaseImages
  /** Folder of the static pages that the edge serves. */
  artifactsFolder: string
  /** HMAC key for the names of cached installs, which are derived from variables. */
  cacheKey: Uint8Array
  download: Download
  /** BuildKit cache records that builds of this Berth created. */
  cache: BuildCache
  /** Images that the classic builder leaves behind. */
  stages: BuildStages
  /** Uses BuildKit for every Dockerfile if its steps can be limited. Otherwise only if a Dockerfile needs it. */
  prefersBuildKit: boolean
  /** Mode for untrusted projects: rejects builds that cannot be limited. */
  isStrict: boolean
}
