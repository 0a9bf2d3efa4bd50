import type { DetectedApp, Detection, Evidence } from './detection.ts'
import type { Folder } from './folder.ts'
import { type Ecosystem, type Manifests, readManifests } from './manifests/index.ts'

/** One folder that may be an app, with what its manifests say. */
export interface App {
  folder: Folder
  manifests: Manifests
  /** The project's own, for files that ask for them; only where it is about to be built. */
  variables?: Readonly<Record<string, string>>
  /** The package manager that the project's settings name, whatever its files say. */
  packageManager?: string
  /** The Compose file that the project's settings name, relative to the folder. */
  composePath?: string
  /** Profiles of the Compose file that the project's settings name. */
  composeProfiles?: readonly string[]
}

export const lookAt = async (folder: Folder): Promise<App> => ({ folder, manifests: await readManifests(folder) })

/** A row of the table: by which signs a stack is known, and what follows from it. */
export interface Stack {
  framework: string
  when: Sign
  plan: (app: App) => Plan | Promise<Plan>
}

/** A question to the app; the answer is its evidence, or `null` for no. */
export type Sign = (app: App) => Evidence[] | null | Promise<Evidence[] | null>

/** How a stack is built and run. What is left out is not known or not needed. */
export interface Plan {
  type: Detection['type']
  language: string | null
  name?: string | null
  /** Whose manifest names the project, where another's only makes its assets. */
  ecosystem?: Ecosystem
  packageManager?: string | null
  installCommand?: string | null
  buildCommand?: string | null
  startCommand?: string | null
  outputDirectory?: string | null
  port?: number | null
  /** The path that says whether it is healthy, where a file of another host names one. */
  healthPath?: string
  services?: Detection['services']
  serviceVariables?: Detection['serviceVariables']
  serviceFiles?: Detection['serviceFiles']
  apps?: DetectedApp[]
  evidence?: Evidence[]
  warnings?: string[]
  refused?: string[]
  siteRules?: Detection['siteRules']
}

export interface Match {
  stack: Stack
  evidence: Evidence[]
}

/** The first row whose signs hold. */
export async function firstMatch(app: App, stacks: readonly Stack[]): Promise<Match | null> {
  for (const stack of stacks) {
    const evidence = await stack.when(app)
    if (evidence) return { stack, evidence }
  }
  return null
}
