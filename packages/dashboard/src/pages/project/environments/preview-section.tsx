import { contract, type Project } from '@berth/contract'
import { NumberInput, SimpleGrid, Stack, Switch } from '@mantine/core'
import { useState } from 'react'
import { SaveFooter } from '../../../components/save-footer.tsx'
import { Section } from '../../../components/section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { projectReads } from '../../../data/project.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'

/** Preview settings: enabled or not, maximum number, lifetime and variables. */
export function PreviewSection({ project }: { project: Project }) {
  const { id, config } = project
  const params = { id }
  const [previewsMaximum, setMaximum] = useState(config.previewsMaximum)
  const [days, setDays] = useState<number | ''>(config.previewsMaxAgeDays ?? '')
  const writeRefusal = useProjectRefusal(id, 'write')
  const adminRefusal = useProjectRefusal(id, 'admin')
  const options = useChange(contract.projects.setOptions, { refreshes: projectReads, successMessage: 'Saved.' })
  const variables = useChange(contract.projects.setPreviewVariables, { refreshes: projectReads, successMessage: 'Saved.' })
  const save = () => options.mutate({ params, body: { previewsMaximum, previewsMaxAgeDays: days || null } })
  return (
    <form onSubmit={submitting(save)}>
      <Section
        title="Previews"
        description="Each pull request gets its own environment until it is closed."
        footer={<SaveFooter refusal={writeRefusal} isPending={options.isPending} />}
      >
        <Stack>
          <Switch
            label="Create a preview for every pull request"
            description={writeRefusal}
            disabled={!!writeRefusal}
            checked={config.previews}
            onChange={(event) => options.mutate({ params, body: { previews: event.currentTarget.checked } })}
          />
          <Switch
            label="Pass production variables and secrets to previews"
            description={adminRefusal ?? 'Anyone who may open a pull request can then read them.'}
            disabled={!!adminRefusal}
            checked={config.previewsUseProductionVariables}
            onChange={(event) => variables.mutate({ params, body: { fromProduction: event.currentTarget.checked } })}
          />
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <NumberInput
              label="Maximum number of previews"
              min={1}
              max={100}
              readOnly={!!writeRefusal}
              value={previewsMaximum}
              onChange={(value) => setMaximum(Number(value))}
            />
            <NumberInput
              label="Remove after days without a push"
              placeholder="never"
              min={1}
              max={365}
              readOnly={!!writeRefusal}
              value={days}
              onChange={(value) => setDays(typeof value === 'number' ? value : '')}
            />
          </SimpleGrid>
        </Stack>
      </Section>
    </form>
  )
}
