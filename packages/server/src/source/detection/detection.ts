import type { Service } from '@berth/contract'
import type { SiteRules } from '../../platform/site-rules/site-rules.ts'

/** How to build and run a folder, according to its files. `null` and `[]` mean unknown. */
export interface Detection {
  name: string | null
  framework: string | null
  language: string | null
  packageManager: string | null
  /** Commands are shell-like lines: words, quotes, `$PORT`, and `&&` between two commands. */
  installCommand: string | null
  buildCommand: string | null
  startCommand: string | null
  /** Relative to the inspected folder. */
  outputDirectory: string | null
  port: number | null
  type: 'app' | 'static' | 'worker' | 'services'
  services: Service[]
  /** The project variables that each Compose service references; a service that is not listed gets all of them. */
  serviceVariables?: Record<string, string[]>
  /** Inline files of a Compose file (`content`, `environment`), by service. */
  serviceFiles?: Record<string, ServiceFile[]>
  /** The apps of a monorepo; `path` is the value for `rootDirectory`. */
  apps: DetectedApp[]
  /** The folder of the only app, when the project's root is not an app; paths and commands are relative to it. */
  rootDirectory?: string
  /** The health check path. */
  healthPath?: string
  /** Version requirements as written: `{ node: '>=20', python: '3.12' }`. */
  runtimeVersion: Record<string, string>
  evidence: Evidence[]
  warnings: string[]
  /** Redirects and headers of a static site, from the files of other hosts. */
  siteRules?: SiteRules
  /** Reasons why the project must not be run as it is; a scan shows them among the warnings. */
  refused?: string[]
  /** Why the configured framework cannot be planned from this source. */
  mismatch?: string
  /** The variables that a template such as `.env.example` names. */
  exampleVariables?: ExampleVariables
  /** The framework that would have been chosen, but that the runtime does not support. */
  unsupportedFramework?: string
}

/** A committed template of a `.env` file. The values are examples, not secrets of the user. */
export interface ExampleVariables {
  file: string
  variables: { key: string; value: string }[]
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

/** A file and the fact that it shows. */
export interface Evidence {
  file: string
  says: string
}
