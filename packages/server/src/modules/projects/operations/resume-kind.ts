import { sharedKind } from '../../../platform/jobs/declare.ts'

/** Continues work that waited for an operation. Enqueued with the end of the operation. */
export const resumeKind = sharedKind<{ projectId: string }>('projects.resume')

/** Thrown when the job of the waiting work is still ending, so it cannot be enqueued yet. The resume job is retried. */
export class ResumeLater extends Error {
  override readonly name = 'ResumeLater'
}
