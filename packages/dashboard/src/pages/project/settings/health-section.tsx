import { contract, type Project } from '@berth/contract'
import { NumberInput, SimpleGrid, Switch, TextInput } from '@mantine/core'
import { useState } from 'react'
import { SaveFooter } from '../../../components/save-footer.tsx'
import { Section } from '../../../components/section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { projectReads } from '../../../data/project.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { type HealthForm, healthCheckOf, healthForm } from '../../../rules/health-form.ts'

/** The health check that a new version must pass before it goes live. */
export function HealthSection({ project }: { project: Project }) {
  const { healthCheck } = project.config
  const [form, setForm] = useState(() => healthForm(healthCheck))
  const set = (part: Partial<HealthForm>) => setForm({ ...form, ...part })
  const refusal = useProjectRefusal(project.id, 'write')
  const save = useChange(contract.projects.setOptions, {
    refreshes: projectReads,
    successMessage: 'Saved. Takes effect with the next deployment.',
  })
  const submit = () => save.mutate({ params: { id: project.id }, body: { healthCheck: healthCheckOf(form) } })
  return (
    <form onSubmit={submitting(submit)}>
      <Section
        title="Health check"
        description="A new version goes live only after its health check passes. Otherwise the old version stays live."
        footer={<SaveFooter refusal={refusal} isPending={save.isPending} />}
      >
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextInput
            label="Path"
            placeholder="none: wait for the port"
            pattern="/.*"
            title="Begins with /"
            classNames={{ input: 'mono' }}
            readOnly={!!refusal}
            value={form.path}
            onChange={(event) => set({ path: event.currentTarget.value })}
          />
          <NumberInput
            label="Timeout (seconds)"
            placeholder="60"
            min={1}
            max={600}
            readOnly={!!refusal}
            value={form.timeoutSeconds}
            onChange={(value) => set({ timeoutSeconds: typeof value === 'number' ? value : '' })}
          />
          <NumberInput
            label="Interval (seconds)"
            description="Time between two checks"
            placeholder="default"
            min={1}
            max={600}
            readOnly={!!refusal}
            value={form.intervalSeconds}
            onChange={(value) => set({ intervalSeconds: typeof value === 'number' ? value : '' })}
          />
          <Switch
            mt={{ sm: 'xl' }}
            label="Accept error responses"
            description="A 4xx or 5xx response counts as healthy too. For apps whose start page needs a login, for example."
            checked={form.acceptErrors}
            disabled={!!refusal}
            onChange={(event) => set({ acceptErrors: event.currentTarget.checked })}
          />
        </SimpleGrid>
      </Section>
    </form>
  )
}
