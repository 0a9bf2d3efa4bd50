import { contract, type Project } from '@berth/contract'
import { ActionButton } from '../../../components/action-button.tsx'
import { Section } from '../../../components/section.tsx'
import { useChange } from '../../../data/change.ts'
import { offerUndo } from '../../../data/notices.tsx'
import { projectReads } from '../../../data/project.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'

/** Disables and enables the project; each action undoes the other. */
export function PowerSection({ project }: { project: Project }) {
  const params = { id: project.id }
  const refusal = useProjectRefusal(project.id, 'write')
  const enable = useChange(contract.projects.enable, { refreshes: projectReads, successMessage: 'Project enabled.' })
  const disable = useChange(contract.projects.disable, { refreshes: projectReads })
  const turnOff = () =>
    disable.mutate({ params }, { onSuccess: () => offerUndo('Project disabled.', () => enable.mutate({ params })) })
  return (
    <Section
      title={project.enabled ? 'Disable' : 'Enable'}
      description={
        project.enabled
          ? 'Takes the project offline and pauses deployments. Data and settings are kept. You can enable it again at any time.'
          : 'Brings the project online and allows deployments.'
      }
      actions={
        project.enabled ? (
          <ActionButton variant="default" refusal={refusal} loading={disable.isPending} onClick={turnOff}>
            Disable
          </ActionButton>
        ) : (
          <ActionButton refusal={refusal} loading={enable.isPending} onClick={() => enable.mutate({ params })}>
            Enable
          </ActionButton>
        )
      }
    >
      {null}
    </Section>
  )
}
