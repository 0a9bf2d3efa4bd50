import { type ConnectReply, contract, type GitHostProvider, type GitHostStatus, type ReplyOf } from '@berth/contract'
import { Alert, Code, Group, Text, Title } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { CopyText } from '../../components/copy-text.tsx'
import { ErrorState } from '../../components/error-state.tsx'
import { ExternalLink } from '../../components/external-link.tsx'
import { Section } from '../../components/section.tsx'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { refresh } from '../../data/refresh.ts'
import { useOperatorRefusal, useRefusal } from '../../data/refusal.ts'
import { useHealth, useSession } from '../../data/session.ts'
import { providerNames } from './provider-names.ts'

interface Props {
  status: GitHostStatus
  provider: GitHostProvider
}

/** Connects a git host with an account, or with the login of this machine's git client. */
export function ConnectSection({ status, provider }: Props) {
  const [reply, setReply] = useState<ConnectReply>()
  const refusal = useRefusal('gitprovider:write')
  const hasNoApplication = useMissingApplication(provider)
  const accountRefusal =
    refusal ??
    (hasNoApplication ? `Berth has no application at ${providerNames[provider]} yet. Create or enter one below.` : undefined)
  const local = useRead(contract.gitHost.localStatus, {}, { isEnabled: provider === 'github' })
  const connect = useChange(contract.gitHost.connect, {
    hidesErrorNotice: true,
    refreshes: [contract.gitHost.status, contract.gitHost.home],
  })
  const start = (source?: 'oauth' | 'cli') =>
    connect.mutate(
      { query: { provider }, body: source ? { source } : {} },
      {
        onSuccess: (answer) => {
          if (!answer.connected && answer.flow === 'redirect') window.location.assign(answer.url)
          else setReply(answer)
        },
      },
    )
  const operatorRefusal = useOperatorRefusal()
  const cliRefusal = refusal ?? operatorRefusal ?? localRefusal(local.data)
  const shownRefusals = new Set([accountRefusal, provider === 'github' && local.data && cliRefusal].filter(Boolean) as string[])
  return (
    <Section
      title={status.state === 'connected' ? 'Connect another way' : 'Not connected'}
      description="Approve the connection at the git host, or enter a code there. Berth does not need your password."
    >
      <Group>
        <ActionButton refusal={accountRefusal} loading={connect.isPending} onClick={() => start()}>
          Connect an account
        </ActionButton>
        {provider === 'github' && (
          <ActionButton variant="default" refusal={cliRefusal} onClick={() => start('cli')}>
            Use this machine's login{local.data?.login ? ` (${local.data.login})` : ''}
          </ActionButton>
        )}
      </Group>
      {[...shownRefusals].map((reason) => (
        <Text key={reason} size="sm" c="dimmed" mt="sm">
          {reason}
        </Text>
      ))}
      {connect.error && <ErrorState mt="md" error={connect.error} />}
      {reply && !reply.connected && reply.flow === 'device_code' && (
        <DeviceCode reply={reply} provider={provider} onOver={() => setReply(undefined)} />
      )}
      {reply && !reply.connected && reply.flow === 'terminal' && (
        <Alert mt="md" title={reply.message}>
          <Code>{reply.command}</Code> <CopyText value={reply.command} label="Copy the command" />
        </Alert>
      )}
    </Section>
  )
}

/** Why the login of this machine cannot be used; undefined if it can. */
function localRefusal(local: ReplyOf<typeof contract.gitHost.localStatus>['data'] | undefined): string | undefined {
  if (!local) return 'Looking for a login on this machine.'
  return local.available ? undefined : (local.reason ?? 'This machine has no login.')
}

/** Whether no way to sign in at the git host is set up. Only operators can see it; for others the API explains a refusal. */
function useMissingApplication(provider: GitHostProvider): boolean {
  const isAdmin = useRefusal('gitprovider:admin') === undefined
  const isOperator = useSession().data?.operator ?? false
  const applications = useRead(contract.gitHost.listApplications, {}, { isEnabled: isOperator })
  const isLinkable = useHealth().data?.mode === 'self-hosted'
  const link = useRead(contract.cloud.getLink, {}, { isEnabled: isAdmin && isLinkable })
  const application = applications.data?.find((one) => one.provider === provider)
  return application?.kind === null && (!isLinkable || link.data?.linked === false)
}

interface DeviceProps {
  reply: Extract<ConnectReply, { flow: 'device_code' }>
  provider: GitHostProvider
  onOver(): void
}

/** Shows a code to enter at the git host, and polls until it was entered. */
function DeviceCode({ reply, provider, onOver }: DeviceProps) {
  const queries = useQueryClient()
  const poll = useRead(
    contract.gitHost.pollConnect,
    { query: { provider } },
    { refetchIntervalMs: Math.max(1, reply.intervalSeconds) * 1000 },
  )
  const { data } = poll
  useEffect(() => {
    if (!data?.connected) return
    onOver()
    void refresh(queries, contract.gitHost.status, contract.gitHost.home)
  }, [data, onOver, queries])
  return (
    <Alert mt="md" title="Enter this code at the git host">
      <Group gap="xs" align="center">
        <Title order={3} className="mono">
          {reply.userCode}
        </Title>
        <CopyText value={reply.userCode} label="Copy the code" />
      </Group>
      <ExternalLink url={reply.verificationUri} />
      <Text size="sm" mt="xs" role="status">
        {data?.message ?? (data && data.status !== 'pending' ? data.status : 'Waiting for approval…')}
      </Text>
    </Alert>
  )
}
