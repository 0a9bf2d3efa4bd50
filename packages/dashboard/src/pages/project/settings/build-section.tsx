import { contract, type Project } from '@berth/contract'
import { NumberInput } from '@mantine/core'
import { useState } from 'react'
import { BuildFields, type BuildValues, buildChanges } from '../../../components/build-fields.tsx'
import { SaveFooter } from '../../../components/save-footer.tsx'
import { Section } from '../../../components/section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { useProjectRefusal } from '../../../data/may.ts'
import { projectReads } from '../../../data/project.ts'

export function BuildSection({ project }: { project: Project }) {
  const { config, id } = project
  const [values, setValues] = useState<BuildValues>(() => ({
    rootDirectory: config.rootDirectory ?? '',
    installCommand: config.installCommand ?? '',
    buildCommand: config.buildCommand ?? '',
    startCommand: config.startCommand ?? '',
    outputDirectory: config.outputDirectory ?? '',
    dockerfilePath: config.dockerfilePath ?? '',
    composePath: config.composePath ?? '',
    buildTarget: config.buildTarget ?? '',
    port: config.port,
  }))
  const [rollbackWindow, setWindow] = useState(config.rollbackWindow)
  const refusal = useProjectRefusal(id, 'write')
  const save = useChange(contract.projects.setOptions, {
    refreshes: projectReads,
    says: 'Saved; in force with the next deployment.',
  })
  const submit = () => save.mutate({ params: { id }, body: { ...buildChanges(values, config.port), rollbackWindow } })
  return (
    <form onSubmit={submitting(() => submit())}>
      <Section
        title="Build and start"
        description="A field that is left empty is found out from the source at each build."
        footer={
          <SaveFooter refusal={refusal} isPending={save.isPending}>
            In force with the next deployment.
          </SaveFooter>
        }
      >
        <BuildFields values={values} onChange={setValues} isReadOnly={!!refusal}>
          <NumberInput
            label="Versions kept"
            description="Those one can roll back to"
            min={0}
            max={20}
            readOnly={!!refusal}
            value={rollbackWindow}
            onChange={(value) => setWindow(Number(value))}
          />
        </BuildFields>
      </Section>
    </form>
  )
}
