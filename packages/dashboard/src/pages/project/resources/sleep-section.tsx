import { contract, type Project } from '@berth/contract'
import { Switch } from '@mantine/core'
import { Section } from '../../../components/section.tsx'
import { useChange } from '../../../data/change.ts'
import { projectReads } from '../../../data/project.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'

export function SleepSection({ project }: { project: Project }) {
  const refusal = useProjectRefusal(project.id, 'write')
  const set = useChange(contract.projects.setSleepMode, { refreshes: [...projectReads, contract.projects.getResources] })
  return (
    <Section title="Sleep" description="An idle project is stopped to free memory. The next request waits until it is up again.">
      <Switch
        label="Sleep when idle"
        description={refusal}
        disabled={!!refusal}
        checked={project.config.sleepMode === 'auto_sleep'}
        onChange={(event) =>
          set.mutate({
            params: { id: project.id },
            body: { sleepMode: event.currentTarget.checked ? 'auto_sleep' : 'always_on' },
          })
        }
      />
    </Section>
  )
}
