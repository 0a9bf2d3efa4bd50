import { type AuditEntry, contract } from '@berth/contract'
import { Alert } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { ActionButton } from '../../components/action-button.tsx'
import { ErrorState } from '../../components/error-state.tsx'
import { Section } from '../../components/section.tsx'
import { call } from '../../data/client.ts'
import { useSession } from '../../data/session.ts'
import { type ChainReport, checkChain } from '../../rules/audit-chain.ts'
import { plural } from '../../text/sizes.ts'

const maxPages = 100

/** Fetches the log and verifies its hashes in this browser, without trusting the server. */
export function ChainCheck() {
  const organizationId = useSession().data?.organization.id ?? ''
  const check = useMutation({
    mutationFn: async () => {
      if (!crypto.subtle)
        throw new Error('The browser can verify hashes only over https or on localhost. Open the dashboard that way.')
      return checkChain(await wholeLog(), organizationId)
    },
  })
  return (
    <Section
      title="Verify the log"
      description="Loads the log and computes every hash in the browser."
      actions={
        <ActionButton variant="default" loading={check.isPending} onClick={() => check.mutate()}>
          Check the chain
        </ActionButton>
      }
    >
      {check.data && <Outcome report={check.data} />}
      {check.error && <ErrorState error={check.error} />}
    </Section>
  )
}

async function wholeLog(): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const { data, nextCursor } = await call(contract.access.auditLog, { query: { limit: 500, ...(cursor ? { cursor } : {}) } })
    entries.push(...data)
    if (!nextCursor) break
    cursor = nextCursor
  }
  return entries
}

const Outcome = ({ report }: { report: ChainReport }) =>
  report.state === 'intact' ? (
    <Alert color="teal" title="The log is intact">
      {plural(report.entries, 'entry', 'entries')},{' '}
      {report.includesFirstEntry ? 'from the first entry on: every hash matches.' : 'checked by their links.'}
    </Alert>
  ) : (
    <Alert color="red" title="The log was changed" role="alert">
      At {report.at.action} of {report.at.at}: {report.why}.
    </Alert>
  )
