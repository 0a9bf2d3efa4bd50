import { contract, type Project } from '@berth/contract'
import { NumberInput, Switch, Textarea } from '@mantine/core'
import { useState } from 'react'
import { BuildFields, type BuildValues, buildChanges } from '../../../components/build-fields.tsx'
import { SaveFooter } from '../../../components/save-footer.tsx'
import { Section } from '../../../components/section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { projectReads } from '../../../data/project.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { buildArgsText, readBuildArgs } from '../../../rules/build-args.ts'

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
    composeProfiles: config.composeProfiles?.join(', ') ?? '',
    buildTarget: config.buildTarget ?? '',
    image: config.image ?? '',
    port: config.port,
  }))
  const [args, setArgs] = useState(() => buildArgsText(config.buildArgs))
  const { buildArgs, problems } = readBuildArgs(args)
  const [autoDeploy, setAutoDeploy] = useState(config.autoDeploy)
  const [rollbackWindow, setWindow] = useState(config.rollbackWindow)
  const refusal = useProjectRefusal(id, 'write')
  const save = useChange(contract.projects.setOptions, {
    refreshes: projectReads,
    successMessage: 'Saved. Takes effect with the next deployment.',
  })
  const submit = () =>
    problems.length === 0 &&
    save.mutate({
      params: { id },
      body: { ...buildChanges(values, config.port), buildArgs, rollbackWindow, ...(values.image ? { autoDeploy } : {}) },
    })
  return (
    <form onSubmit={submitting(() => submit())}>
      <Section
        title="Build and start"
        description="Empty fields are detected from the source at each build."
        footer={
          <SaveFooter refusal={refusal} isPending={save.isPending}>
            Takes effect with the next deployment.
          </SaveFooter>
        }
      >
        <BuildFields hasImage values={values} onChange={setValues} isReadOnly={!!refusal}>
          <NumberInput
            label="Versions kept"
            description="Number of versions kept for rollback"
            min={0}
            max={20}
            readOnly={!!refusal}
            value={rollbackWindow}
            onChange={(value) => setWindow(Number(value))}
          />
        </BuildFields>
        {values.image && (
          <Switch
            mt="md"
            label="Deploy new versions of the image automatically"
            description="Checks the registry every few minutes for a new digest of the tag."
            checked={autoDeploy}
            disabled={!!refusal}
            onChange={(event) => setAutoDeploy(event.currentTarget.checked)}
          />
        )}
        <Textarea
          mt="md"
          label="Build arguments"
          description="One per line, as NAME=value. They stay readable in the image. Use variables for secrets."
          placeholder="NODE_VERSION=24"
          autosize
          minRows={2}
          maxRows={14}
          classNames={{ input: 'mono' }}
          spellCheck={false}
          readOnly={!!refusal}
          value={args}
          error={problems.length > 0 ? problems.join(' · ') : undefined}
          onChange={(event) => setArgs(event.currentTarget.value)}
        />
      </Section>
    </form>
  )
}
