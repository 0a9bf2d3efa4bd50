import type { RulesCollector } from '../../site-rules/collect-rules.ts'
import type { Evidence } from '../detection.ts'
import type { Folder } from '../folder.ts'

/** What a file that was written for another host says about building and running the project. */
export interface Hints {
  file: string
  type?: 'app' | 'static'
  installCommand?: string | null
  buildCommand?: string | null
  startCommand?: string | null
  outputDirectory?: string | null
  port?: number | null
  healthPath?: string | null
  /** `static` is said of what a program renders as well: its files are published, and it answers beside them. */
  isSaidOfPrograms?: boolean
  /** What of it does not come along. */
  warnings?: string[]
  evidence?: Evidence[]
  /** What it says of the addresses of a static site, and what of that is not followed. */
  site?: Pick<RulesCollector, 'rules' | 'warnings'>
}

/** Reads one host's file; `null` where there is none, or none that is meant for that host. */
export type HintReader = (folder: Folder) => Promise<Hints | null>

export const leftOut = (file: string, what: string) => `${file}: ${what} left out; Berth does not follow it`
