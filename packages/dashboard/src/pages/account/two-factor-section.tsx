import { contract } from '@berth/contract'
import { Anchor, Button, Code, Group, Stack, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { CopyText } from '../../components/copy-text.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { QrImage } from '../../components/qr-image.tsx'
import { Section } from '../../components/section.tsx'
import { submitting } from '../../components/submitting.ts'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { downloadText } from '../../text/download.ts'
import { plural } from '../../text/sizes.ts'

const refreshes = [contract.access.totpStatus]

interface Props {
  /** Called when the recovery codes appear, and when the user has stored them. */
  onRecoveryCodes?(areShown: boolean): void
}

/** Turns two-factor authentication on and off. */
export function TwoFactorSection({ onRecoveryCodes = () => {} }: Props) {
  const status = useRead(contract.access.totpStatus, {})
  const begin = useChange(contract.access.beginTotp)
  const confirm = useChange(contract.access.confirmTotp, { refreshes, hidesErrorNotice: true })
  const remove = useChange(contract.access.removeTotp, {
    refreshes,
    successMessage: 'Two-factor authentication is off.',
    hidesErrorNotice: true,
  })
  const recoveryCodes = confirm.data?.data.recoveryCodes
  const forget = () => {
    begin.reset()
    confirm.reset()
    onRecoveryCodes(false)
  }
  const content = ({ enabled, recoveryCodesLeft }: { enabled: boolean; recoveryCodesLeft: number }) => {
    if (recoveryCodes) return <RecoveryCodes codes={recoveryCodes} onDone={forget} />
    if (enabled)
      return (
        <CodeForm
          action="Turn off"
          isPending={remove.isPending}
          error={remove.error}
          onSubmit={(code) => remove.mutate({ body: { code } })}
        >
          <Text size="sm">
            {plural(recoveryCodesLeft, 'recovery code')} left. To turn it off, enter a code of your authenticator app or a
            recovery code.
          </Text>
        </CodeForm>
      )
    if (!begin.data)
      return (
        <Button variant="default" loading={begin.isPending} onClick={() => begin.mutate({})}>
          Set up
        </Button>
      )
    const { secret, uri } = begin.data.data
    return (
      <CodeForm
        action="Turn on"
        isPending={confirm.isPending}
        error={confirm.error}
        onSubmit={(code) => confirm.mutate({ body: { code } }, { onSuccess: () => onRecoveryCodes(true) })}
      >
        <Text size="sm">
          Scan the QR code with your authenticator app, type the key, or <Anchor href={uri}>open it on this device</Anchor>. Then
          enter the code that the app shows.
        </Text>
        <QrImage text={uri} label="QR code of the key" />
        <Group wrap="nowrap" gap="xs">
          <Code className="wrap-anywhere">{secret}</Code>
          <CopyText value={secret} label="Copy the key" />
        </Group>
      </CodeForm>
    )
  }
  return (
    <Section title="Two-factor authentication" description={status.data && descriptionOf(status.data)}>
      <Loaded query={status}>{content}</Loaded>
    </Section>
  )
}

const descriptionOf = ({ enabled }: { enabled: boolean }) =>
  enabled
    ? 'On. Signing in also asks for a code of an app on your phone.'
    : 'Off. When it is on, signing in also asks for a code of an app on your phone.'

interface CodeFormProps {
  children: ReactNode
  action: string
  isPending: boolean
  error: Error | null
  onSubmit(code: string): void
}

function CodeForm({ children, action, isPending, error, onSubmit }: CodeFormProps) {
  const [code, setCode] = useState('')
  return (
    <form onSubmit={submitting(() => code && onSubmit(code))}>
      <Stack maw={460}>
        {children}
        <TextInput
          label="Code"
          autoComplete="one-time-code"
          value={code}
          error={error?.message}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
        <Group>
          <Button type="submit" loading={isPending}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** Shows the recovery codes, once. */
const RecoveryCodes = ({ codes, onDone }: { codes: readonly string[]; onDone(): void }) => (
  <Stack maw={460}>
    <Text size="sm">
      Two-factor authentication is on. Store these recovery codes in a safe place: each signs you in once if you lose your phone.
      They are not shown again.
    </Text>
    <Code block aria-label="Recovery codes">
      {codes.join('\n')}
    </Code>
    <Group>
      <Button variant="default" onClick={() => downloadText('berth-recovery-codes.txt', [`${codes.join('\n')}\n`])}>
        Download
      </Button>
      <Button onClick={onDone}>I have stored them</Button>
    </Group>
  </Stack>
)
