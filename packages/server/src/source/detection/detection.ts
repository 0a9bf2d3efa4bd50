import type { Service } from '@berth/contract'
import type { SiteRules } from '../../platform/site-rules/site-rules.ts'

/** What a folder says about how to build and run it; `null` and `[]` where it says nothing. */
export interface Detection {
  name: string | null
  framework: string | null
  language: string | null
  packageManager: string | null
  /** Commands are lines as a user would type them: words, quotes, `$PORT`, and `&&` between two of them. */
  installCommand: string | null
  buildCommand: string | null
  startCommand: string | null
  /** Relative to the folder that was looked at. */
  outputDirectory: string | null
  port: number | null
  type: 'app' | 'static' | 'worker' | 'services'
  services: Service[]
  /** The project's variables that each service of a Compose file refers to; a service that is not in it gets all of them. */
  serviceVariables?: Record<string, string[]>
  /** Files that a Compose file writes out itself (`content`), or that a variable holds (`environment`), by service. */
  serviceFiles?: Record<string, ServiceFile[]>
  /** The apps of a monorepo; `path` is what its `rootDirectory` would be. */
  apps: DetectedApp[]
  /** The folder of the only app, where the project's root is none itself; paths and commands are that folder's. */
  rootDirectory?: string
  /** The path that says whether it is healthy. */
  healthPath?: string
  /** As written: `{ node: '>=20', python: '3.12' }`. */
  runtimeVersion: Record<string, string>
  evidence: Evidence[]
  warnings: string[]
  /** What the files of other hosts say of the addresses of a static site. */
  siteRules?: SiteRules
  /** Why what was found must not be run as it is; a scan tells it among the warnings. */
  refused?: string[]
  /** Why the framework that the settings name cannot be planned from this source. */
  mismatch?: string
  /** What would have been chosen, had it not been left out: the runtime cannot use it. */
  leftOut?: string
}

/** A file inside a service's container. */
export interface ServiceFile {
  path: string
  content: string
  mode: number
  uid: number
  gid: number
}

export interface DetectedApp {
  name: string
  path: string
  framework: string | null
}

/** Which file said so, in words. */
export interface Evidence {
  file: string
  says: string
}
