import type { DetectedApp, Detection, Evidence } from './detection.ts'
import type { Folder } from './folder.ts'
import { type Ecosystem, type Manifests, readManifests } from './manifests/index.ts'

/** A folder that may be an app, with its manifests. */
export interface App {
  folder: Folder
  manifests: Manifests
  /** The project's variables, for files that reference them; only set for a build. */
  variables?: Readonly<Record<string, string>>
  /** The package manager from the project's settings, which overrides the files. */
  packageManager?: string
  /** The Compose file from the project's settings, relative to the folder. */
  composePath?: string
  /** Enabled Compose profiles, from the project's settings. */
  composeProfiles?: readonly string[]
}

export const readApp = async (folder: Folder): Promise<App> => ({ folder, manifests: await readManifests(folder) })

/** A row of the table: the condition for a stack, and its plan. */
export interface Stack {
  framework: string
  when: Sign
  plan: (app: App) => Plan | Promise<Plan>
}

/** A condition on the app; returns evidence, or `null` when it does not hold. */
export type Sign = (app: App) => Evidence[] | null | Promise<Evidence[] | null>

/** How a stack is built and run. Absent fields are unknown or not needed. */
export interface Plan {
  type: Detection['type']
  language: string | null
  name?: string | null
  /** The ecosystem whose manifest names the project, when another manifest only builds its assets. */
  ecosystem?: Ecosystem
  packageManager?: string | null
  installCommand?: string | null
  buildCommand?: string | null
  startCommand?: string | null
  outputDirectory?: string | null
  port?: number | null
  /** The health check path from a file of another host. */
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

/** The first row whose signs match. */
export async function firstMatch(app: App, stacks: readonly Stack[]): Promise<Match | null> {
  for (const stack of stacks) {
    const evidence = await stack.when(app)
    if (evidence) return { stack, evidence }
  }
  return null
}
