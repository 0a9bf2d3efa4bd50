import { contract, type Project } from '@berth/contract'
import { Alert, NativeSelect, Stack, Switch, Text } from '@mantine/core'
import { Loaded } from '../../../components/loaded.tsx'
import { Section } from '../../../components/section.tsx'
import { SkeletonRows } from '../../../components/skeleton-rows.tsx'
import { TimeAgo } from '../../../components/time-ago.tsx'
import { useChange } from '../../../data/change.ts'
import { projectReads } from '../../../data/project.ts'
import { type Content, useRead } from '../../../data/read.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { RegisterWebhook } from './register-webhook.tsx'

/** The status of the webhook for pushes. */
export function WebhookSection({ project }: { project: Project }) {
  const params = { id: project.id }
  const refusal = useProjectRefusal(project.id, 'write')
  const git = useRead(contract.projects.getGit, { params })
  const autoDeploy = useChange(contract.projects.setAutoDeploy, { refreshes: [...projectReads, contract.projects.getGit] })
  const domain = useChange(contract.projects.setWebhookDomain, {
    refreshes: [...projectReads, contract.projects.getGit],
    successMessage: 'Saved.',
  })
  const custom = project.routes.filter(({ kind }) => kind === 'custom').map(({ hostname }) => hostname)
  const webhook = git.data?.webhook
  return (
    <Section title="Pushes">
      <Stack>
        {webhook?.problem && (
          <Alert color="yellow" title="Pushes may not arrive">
            {webhook.problem}
          </Alert>
        )}
        <Loaded query={git} skeleton={<SkeletonRows rows={1} />}>
          {(repository) => (
            <>
              <WebhookStatus webhook={repository.webhook} />
              {!repository.webhook.active && <RegisterWebhook project={project} />}
            </>
          )}
        </Loaded>
        <Switch
          label="Deploy every push to the branch"
          description={refusal}
          disabled={!!refusal}
          checked={project.config.autoDeploy}
          onChange={(event) => autoDeploy.mutate({ params, body: { enabled: event.currentTarget.checked } })}
        />
        {custom.length > 0 && (
          <NativeSelect
            label="Webhook domain"
            maw={360}
            disabled={!!refusal}
            value={project.config.webhookDomain ?? ''}
            data={[{ value: '', label: 'Domain of this instance' }, ...custom]}
            onChange={(event) => domain.mutate({ params, body: { domain: event.currentTarget.value || null } })}
          />
        )}
      </Stack>
    </Section>
  )
}

const WebhookStatus = ({ webhook }: Pick<Content<typeof contract.projects.getGit>, 'webhook'>) => (
  <Text size="sm" component="div">
    {webhook.active ? (
      <>
        The webhook is registered.{' '}
        {webhook.lastDeliveryAt ? (
          <>
            Last delivery: <TimeAgo time={webhook.lastDeliveryAt} />.
          </>
        ) : (
          'No deliveries yet.'
        )}
      </>
    ) : (
      'No webhook is registered, so pushes are not deployed.'
    )}
    {webhook.url && <div className="mono wrap-anywhere">{webhook.url}</div>}
  </Text>
)
