import { Type } from 'typebox'
import { jsonColumn } from './json-column.ts'
import { texts } from './shapes.ts'

/** The content of a delivery is read by `modules/git-events/handle-job.ts`. */
export const gitDeliveryJson = {
  organizations: jsonColumn('gitDeliveries', 'organizations', Type.Union([Type.Literal('all'), texts]), ['key']),
}
