import { Type } from 'typebox'
import { jsonColumn } from './json-column.ts'

/** A payload has the type that its kind declares. */
export const jobJson = { payload: jsonColumn('jobs', 'payload', Type.Unknown()) }
export const scheduleJson = { payload: jsonColumn('schedules', 'payload', Type.Unknown(), ['key']) }
