import { fail } from '../../../platform/failure.ts'
import type { WorkUnderWay } from './project-part.ts'

/** 409 with what a deletion would cut short, by name. */
export function refuseWork(on: 'project' | 'environment', work: readonly WorkUnderWay[]): void {
  if (work.length === 0) return
  const words = work.map(({ kind, id, status }) => `${kind} ${id} (${status})`).join(', ')
  fail('work_in_progress', { words: `Under way on this ${on}: ${words}` })
}
