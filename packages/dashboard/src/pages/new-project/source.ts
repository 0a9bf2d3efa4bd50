import type { CreateProject } from '@berth/contract'
import type { Detection } from '../../upload/send-folder.ts'

/** Where a new project comes from, and what was found there. */
export interface ChosenSource {
  /** The project's fields that say it. */
  fields: Omit<CreateProject, 'name'>
  name: string
  words: string
  detection: Detection | null
}
