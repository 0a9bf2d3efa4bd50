import type { StackFiles, StackReading } from '../../source/compose/index.ts'
import type { DetectOptions } from '../../source/detection/detect-folder.ts'
import type { Detection } from '../../source/detection/detection.ts'
import type { Excluded, SourceEntry } from '../../source/list-source.ts'

/** Tasks of a reader: the input, the type of the parts that it sends before the answer, and the answer. */
export interface Tasks {
  detect: { input: { folder: string; options: Omit<DetectOptions, 'abort'> }; part: never; answer: Detection }
  list: { input: { folder: string; excluded: Excluded }; part: SourceEntry; answer: null }
  readStack: { input: StackFiles; part: never; answer: StackReading }
}
export type TaskName = keyof Tasks

export interface ReaderRequest {
  task: TaskName
  input: Tasks[TaskName]['input']
}

/** Messages of a reader. `FolderReader` converts `failed` back to an error of that name. */
export type Reply =
  | { type: 'ready' }
  | { type: 'parts'; parts: unknown[] }
  | { type: 'done'; answer: unknown }
  | { type: 'failed'; name: string; message: string }
