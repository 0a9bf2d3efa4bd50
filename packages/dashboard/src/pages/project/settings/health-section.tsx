import { contract, type Project } from '@berth/contract'
import { NumberInput, SimpleGrid, TextInput } from '@mantine/core'
import { useState } from 'react'
import { SaveFooter } from '../../../components/save-footer.tsx'
import { Section } from '../../../components/section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { projectReads } from '../../../data/project.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'

/** The health check that a new version must pass before it goes live. */
export function HealthSection({ project }: { project: Project }) {
  const { healthCheck } = project.config
  const [path, setPath] = useState(healthCheck?.path ?? '')
  const [seconds, setSeconds] = useState<number | ''>(healthCheck?.timeoutSeconds ?? '')
  const refusal = useProjectRefusal(project.id, 'write')
  const save = useChange(contract.projects.setOptions, {
    refreshes: projectReads,
    successMessage: 'Saved. Takes effect with the next deployment.',
  })
  const submit = () => {
    const check = { ...(path ? { path } : {}), ...(seconds ? { timeoutSeconds: seconds } : {}) }
    save.mutate({ params: { id: project.id }, body: { healthCheck: path || seconds ? { ...healthCheck, ...check } : null } })
  }
  return (
    <form onSubmit={submitting(() => submit())}>
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
            value={path}
            onChange={(event) => setPath(event.currentTarget.value)}
          />
          <NumberInput
            label="Timeout (seconds)"
            placeholder="60"
            min={1}
            max={600}
            value={seconds}
            onChange={(value) => setSeconds(typeof value === 'number' ? value : '')}
          />
        </SimpleGrid>
      </Section>
    </form>
  )
}
