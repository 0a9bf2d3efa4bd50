import type { CreateProject, GitHostProvider } from '@berth/contract'
import type { Detection } from '../../upload/send-folder.ts'

/** Where a new project comes from, and what was found there. */
export interface ChosenSource {
  /** The project's fields that say it. */
  fields: Omit<CreateProject, 'name'>
  name: string
  words: string
  detection: Detection | null
  /** Of the connected git host: pushes to it are asked for. */
  repository?: { provider: GitHostProvider; owner: string; repo: string }
}
