import { contract } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { Alert, Button, Group, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { BuildFields, type BuildValues, buildBody } from '../../components/build-fields.tsx'
import { ErrorState } from '../../components/error-state.tsx'
import { MoreFields } from '../../components/more-fields.tsx'
import { Section } from '../../components/section.tsx'
import { submitting } from '../../components/submitting.ts'
import { call } from '../../data/client.ts'
import { show } from '../../data/notices.tsx'
import { formatDotenv, parseDotenv } from '../../rules/dotenv.ts'
import { plural } from '../../text/sizes.ts'
import { DetectionReport } from './detection-report.tsx'
import { LocationChoice } from './location-choice.tsx'
import type { ChosenSource } from './source.ts'

interface Props {
  source: ChosenSource
  onBack(): void
}

/** Name, build settings and variables; then the project is created and deployed. */
export function ConfigureProject({ source, onBack }: Props) {
  const navigate = useNavigate()
  const [name, setName] = useState(source.name)
  const [build, setBuild] = useState<BuildValues>({})
  const example = source.detection?.exampleVariables
  const [env, setEnv] = useState(() => formatDotenv(example?.variables ?? []))
  const [serverId, setServerId] = useState('')
  const { variables, problems } = parseDotenv(env)
  const deploy = useMutation({
    mutationFn: async () => {
      const location = serverId ? { serverId } : {}
      const body = { name, ...source.fields, ...buildBody(build), ...location }
      const { data: project } = await call(contract.projects.ensure, { body })
      if (source.repository) await enablePushes(project.id, source.repository)
      const isUnfilled = ({ key, value }: { key: string; value: string }) =>
        value === '' && example?.variables.some((one) => one.key === key && one.value === '')
      const upserts = variables.filter((one) => !isUnfilled(one)).map((one) => ({ ...one, isSecret: true }))
      if (upserts.length > 0) await call(contract.projects.changeEnv, { params: { id: project.id }, body: { upserts } })
      return (await call(contract.deployments.build, { body: { projectId: project.id } })).data
    },
    onSuccess: ({ projectId, deploymentId }) =>
      navigate({ to: '/projects/$id/deployments/$deploymentId', params: { id: projectId, deploymentId } }),
  })
  const rejectedField = deploy.error instanceof ApiError ? deploy.error.field : undefined
  return (
    <form onSubmit={submitting(() => deploy.mutate())}>
      <Stack gap="lg">
        <Section
          title="Source"
          actions={
            <Button size="xs" variant="default" onClick={onBack}>
              Change
            </Button>
          }
        >
          <Text size="sm" className="wrap-anywhere">
            {source.text}
          </Text>
          {source.detection && <DetectionReport detection={source.detection} />}
        </Section>
        <Section title="Project">
          <Stack>
            <TextInput
              label="Name"
              required
              maxLength={100}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={rejectedField === 'name' ? deploy.error?.message : undefined}
            />
            <LocationChoice value={serverId} onChange={setServerId} />
            <MoreFields label="Build and start settings">
              <BuildFields values={build} onChange={setBuild} detected={source.detection} />
            </MoreFields>
          </Stack>
        </Section>
        <Section
          title="Variables"
          description={
            example
              ? `From ${example.file}: replace the example values, or remove lines. Values are kept secret; you can change them later.`
              : 'Paste a .env file. Values are kept secret; you can add or change them later.'
          }
        >
          <Textarea
            aria-label="Variables as .env text"
            placeholder={'DATABASE_URL=postgres://…\nAPI_KEY=…'}
            autosize
            minRows={3}
            maxRows={14}
            classNames={{ input: 'mono' }}
            spellCheck={false}
            value={env}
            onChange={(event) => setEnv(event.currentTarget.value)}
            description={variables.length > 0 ? plural(variables.length, 'variable') : undefined}
          />
          {problems.length > 0 && (
            <Alert color="yellow" mt="sm" title="Some lines are invalid">
              {problems.join(' · ')}
            </Alert>
          )}
        </Section>
        {deploy.error && rejectedField !== 'name' && <ErrorState error={deploy.error} />}
        <Group justify="flex-end">
          <Button type="submit" size="md" loading={deploy.isPending} disabled={problems.length > 0}>
            Deploy
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/**
 * Registers the webhook, unless an app already reports the pushes. If that fails, the project still works, but pushes do not deploy it: a notice is shown, and nothing else
 * stops.
 */
async function enablePushes(id: string, { provider, owner, repo }: NonNullable<ChosenSource['repository']>): Promise<void> {
  try {
    const { webhook } = (await call(contract.projects.getGit, { params: { id } })).data
    if (webhook.active) return
    await call(contract.gitHost.registerWebhook, { params: { owner, repo }, query: { provider } })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    show({ title: 'Pushes are not deployed automatically', message, tone: 'bad', durationMs: 12_000 })
  }
}
