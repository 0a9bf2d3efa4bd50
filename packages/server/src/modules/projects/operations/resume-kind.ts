import { sharedKind } from '../../../platform/jobs/declare.ts'

/** Work of a project that waited for an operation goes on. Enqueued with the end of the operation. */
export const resumeKind = sharedKind<{ projectId: string }>('projects.resume')

/** The job of waiting work is just ending without having begun it: it is enqueued once more a moment later. */
export class ResumeLater extends Error {
  override readonly name = 'ResumeLater'
}
