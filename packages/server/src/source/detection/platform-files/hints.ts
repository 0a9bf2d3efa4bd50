import type { RulesCollector } from '../../site-rules/collect-rules.ts'
import type { Evidence } from '../detection.ts'
import type { Folder } from '../folder.ts'

/** Build and run settings from a file for another host. */
export interface Hints {
  file: string
  type?: 'app' | 'static'
  installCommand?: string | null
  buildCommand?: string | null
  startCommand?: string | null
  outputDirectory?: string | null
  port?: number | null
  healthPath?: string | null
  /**
   * Whether the host also uses `type: 'static'` for frameworks that render on a server: it publishes their assets, and runs a
   * program for all other requests.
   */
  appliesToPrograms?: boolean
  /** Settings of the file that are not applied. */
  warnings?: string[]
  evidence?: Evidence[]
  /** Redirects and headers of a static site, and those that are not applied. */
  site?: Pick<RulesCollector, 'rules' | 'warnings'>
}

/** Reads one host's file; `null` when it is missing or not meant for that host. */
export type HintReader = (folder: Folder) => Promise<Hints | null>

export const excluded = (file: string, subject: string) => `${file}: ${subject} ignored; Berth does not support it`
