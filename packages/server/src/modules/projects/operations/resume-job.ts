import { job } from '../../../platform/jobs/declare.ts'
import type { ProjectsDeps } from '../deps.ts'
import { resumeKind } from './resume-kind.ts'

/** Runs after an operation has ended: each part continues its waiting work. */
export const resumeJob = (deps: ProjectsDeps) =>
  job<{ projectId: string }, unknown>(resumeKind, {
    deadlineMs: 5 * 60_000,
    maxAttempts: 20,
    backoff: (attempt) => Math.min(100 * 2 ** attempt, 60_000),
    concurrency: 4,
    async run({ projectId }) {
      for (const part of deps.projectPorts.parts ?? []) await part.resume?.(projectId)
    },
  })
