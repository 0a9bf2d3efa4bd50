import { sharedKind } from '../../../platform/jobs/declare.ts'

/** Continues work that waited for an operation. Enqueued with the end of the operation. */
export const resumeKind = sharedKind<{ projectId: string }>('projects.resume')

/** The job of the waiting work is just ending without having started it: it is enqueued again a moment later. */
export class ResumeLater extends Error {
  override readonly name = 'ResumeLater'
}
