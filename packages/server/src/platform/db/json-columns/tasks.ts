import { Type } from 'typebox'
import { jsonColumn } from './json-column.ts'

export const cronJobJson = {
  command: jsonColumn('cronJobs', 'command', Type.Union([Type.String(), Type.Array(Type.String())])),
}
