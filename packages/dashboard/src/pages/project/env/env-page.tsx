import { contract } from '@berth/contract'
import { Alert, Button, NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { Loaded } from '../../../components/loaded.tsx'
import { Section } from '../../../components/section.tsx'
import { useProjectId } from '../../../data/project.ts'
import { useRead } from '../../../data/read.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { DeployButton } from '../deploy-button.tsx'
import { ProjectPage } from '../project-page.tsx'
import { AddVariable } from './add-variable.tsx'
import { EnvCompare } from './env-compare.tsx'
import { EnvText } from './env-text.tsx'
import { VariableTable } from './variable-table.tsx'

/** The variables of one environment, as a table or as text. Secret values are masked. */
export function EnvPage() {
  const id = useProjectId()
  const [environment, setEnvironment] = useState('production')
  const [view, setView] = useState<'list' | 'text' | 'compare'>('list')
  const [hasChanged, setChanged] = useState(false)
  const refusal = useProjectRefusal(id, 'write')
  const environments = useRead(contract.projects.listEnvironments, { params: { id }, query: {} })
  const variables = useRead(contract.projects.listEnv, { params: { id }, query: { environment } })
  return (
    <ProjectPage
      title="Variables"
      description="Environment variables of the project. Changes take effect after a restart or the next deployment."
    >
      {(project) => (
        <>
          {hasChanged && (
            <Alert color="harbour" title="Saved. The running version still uses the old values.">
              <DeployButton project={project} />
            </Alert>
          )}
          <Section
            isFlush
            actions={
              <>
                <NativeSelect
                  size="xs"
                  aria-label="Environment"
                  value={environment}
                  data={(environments.data ?? [{ slug: 'production', name: 'Production' }]).map(({ slug, name }) => ({
                    value: slug,
                    label: name,
                  }))}
                  onChange={(event) => setEnvironment(event.currentTarget.value)}
                />
                {view === 'list' ? (
                  <>
                    <Button size="xs" variant="default" onClick={() => setView('compare')}>
                      Compare
                    </Button>
                    <ActionButton size="xs" variant="default" refusal={refusal} onClick={() => setView('text')}>
                      Edit all as text
                    </ActionButton>
                  </>
                ) : (
                  <Button size="xs" variant="default" onClick={() => setView('list')}>
                    Back to the list
                  </Button>
                )}
              </>
            }
          >
            <Loaded query={variables}>
              {(rows) =>
                view === 'text' ? (
                  <EnvText
                    key={environment}
                    projectId={id}
                    environment={environment}
                    stored={rows}
                    onSaved={() => {
                      setView('list')
                      setChanged(true)
                    }}
                  />
                ) : view === 'compare' ? (
                  <EnvCompare
                    projectId={id}
                    environment={environment}
                    variables={rows}
                    others={(environments.data ?? []).filter(({ slug }) => slug !== environment)}
                    refusal={refusal}
                  />
                ) : (
                  <VariableTable projectId={id} environment={environment} variables={rows} onSaved={() => setChanged(true)} />
                )
              }
            </Loaded>
          </Section>
          {view === 'list' && (
            <AddVariable
              projectId={id}
              environment={environment}
              isFirst={variables.data?.length === 0}
              refusal={refusal}
              onSaved={() => setChanged(true)}
            />
          )}
        </>
      )}
    </ProjectPage>
  )
}
