import type { CreateProject, GitHostProvider } from '@berth/contract'
import type { Detection } from '../../upload/send-folder.ts'

/** The source of a new project and its detected settings. */
export interface ChosenSource {
  /** The project's fields that describe the source. */
  fields: Omit<CreateProject, 'name'>
  name: string
  text: string
  detection: Detection | null
  /** A repository of the connected git host, on which a webhook for pushes is registered. */
  repository?: { provider: GitHostProvider; owner: string; repo: string }
}
