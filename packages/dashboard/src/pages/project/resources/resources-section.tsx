import { contract, limits, type Resources } from '@berth/contract'
import { NumberInput, SimpleGrid } from '@mantine/core'
import { useState } from 'react'
import { SaveFooter } from '../../../components/save-footer.tsx'
import { Section } from '../../../components/section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { projectReads } from '../../../data/project.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'

interface Props {
  projectId: string
  side: 'production' | 'build'
  title: string
  description: string
  resources: Resources['production']
}

export function ResourcesSection({ projectId, side, title, description, resources }: Props) {
  const [values, setValues] = useState(resources)
  const refusal = useProjectRefusal(projectId, 'write')
  const save = useChange(contract.projects.setResources, {
    refreshes: [...projectReads, contract.projects.getResources],
    successMessage:
      side === 'build'
        ? 'Saved. Takes effect with the next build.'
        : 'Saved. Takes effect after a restart or the next deployment.',
  })
  const field = (name: keyof typeof values) => ({
    value: values[name],
    readOnly: !!refusal,
    onChange: (value: number | string) => setValues({ ...values, [name]: Number(value) }),
  })
  return (
    <form onSubmit={submitting(() => save.mutate({ params: { id: projectId }, body: { [side]: values } }))}>
      <Section title={title} description={description} footer={<SaveFooter refusal={refusal} isPending={save.isPending} />}>
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <NumberInput
            label="CPU (cores)"
            min={0.1}
            max={limits.cpuCoresMaximum}
            step={0.1}
            decimalScale={2}
            {...field('cpuCores')}
          />
          <NumberInput label="Memory (MB)" min={64} max={65536} step={64} {...field('memoryMb')} />
          <NumberInput label="Disk (MB)" min={64} max={204800} step={256} {...field('diskMb')} />
        </SimpleGrid>
      </Section>
    </form>
  )
}
