import { BackupRestore, BackupRun, Deployment } from '@berth/contract'
import { type Static, Type } from 'typebox'

/** Deployments, backup runs and restores of a project, as the API shows them. The target of a transfer only lists them. */
export const ProjectHistory = Type.Object({
  deployments: Type.Array(Deployment, { maxItems: 500 }),
  runs: Type.Array(BackupRun, { maxItems: 500 }),
  restores: Type.Array(BackupRestore, { maxItems: 500 }),
})
export type ProjectHistory = Static<typeof ProjectHistory>
