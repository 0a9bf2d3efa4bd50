/** Signal of every change to a project, its domains and its pauses included; `gone` when it was deleted. */
export const projectsTopic = 'projects'
export interface ProjectSignal {
  projectId: string
  gone?: true
}
