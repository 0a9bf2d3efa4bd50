import type { StackFiles, StackReading } from '../../source/compose/index.ts'
import type { DetectOptions } from '../../source/detection/detect-folder.ts'
import type { Detection } from '../../source/detection/detection.ts'
import type { Excluded, SourceEntry } from '../../source/list-source.ts'

/** Tasks of a reader: the input, the parts it sends on its way, and the answer. */
export interface Tasks {
  detect: { asked: { folder: string; options: Omit<DetectOptions, 'abort'> }; part: never; answer: Detection }
  list: { asked: { folder: string; leftOut: Excluded }; part: SourceEntry; answer: null }
  readStack: { asked: StackFiles; part: never; answer: StackReading }
}
export type TaskName = keyof Tasks

export interface Question {
  task: TaskName
  asked: Tasks[TaskName]['asked']
}

/** A `failed` with a known error name becomes that error again. */
export type Reply =
  | { says: 'ready' }
  | { says: 'parts'; parts: unknown[] }
  | { says: 'done'; answer: unknown }
  | { says: 'failed'; name: string; message: string }
