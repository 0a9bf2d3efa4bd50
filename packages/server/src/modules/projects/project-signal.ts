/**
 * Signal of every change to a project, its domains and its pauses included; `gone` when it was deleted, `sameRoutes` when nothing
 * changed that the edge's table is made of.
 */
export const projectsTopic = 'projects'
export interface ProjectSignal {
  projectId: string
  gone?: true
  sameRoutes?: true
}
