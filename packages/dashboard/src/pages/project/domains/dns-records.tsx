import type { ProjectDomain } from '@berth/contract'
import { Alert } from '@mantine/core'
import { ActionButton } from '../../../components/action-button.tsx'
import { CopyText } from '../../../components/copy-text.tsx'
import { DataTable } from '../../../components/data-table.tsx'
import { Section } from '../../../components/section.tsx'
import { StatusBadge } from '../../../components/status-badge.tsx'
import { isLoopbackRecord, loopbackHint, recordStatus, waitsForDns } from '../../../rules/domain-actions.ts'

interface Props {
  domain: ProjectDomain
  refusal: string | undefined
  isChecking: boolean
  onCheck(): void
}

/** The records to create at the DNS provider, ready to copy. */
export function DnsRecords({ domain, refusal, isChecking, onCheck }: Props) {
  const { hostname, records } = domain
  const isWaiting = waitsForDns(domain)
  const hint = loopbackHint(domain)
  return (
    <Section
      isFlush
      title={isWaiting ? `Waiting for DNS: ${hostname}` : `DNS records of ${hostname}`}
      description={
        isWaiting
          ? 'Create these records where the domain is managed. The TXT record proves that it is yours. Berth checks again automatically.'
          : 'Keep these records where the domain is managed.'
      }
      actions={
        isWaiting && (
          <ActionButton
            size="xs"
            variant="default"
            refusal={refusal}
            loading={isChecking}
            aria-label={`Check DNS now: ${hostname}`}
            onClick={onCheck}
          >
            Check DNS now
          </ActionButton>
        )
      }
    >
      {hint && (
        <Alert color="yellow" mx={{ base: 'md', sm: 'lg' }} mb="sm">
          {hint}.
        </Alert>
      )}
      <DataTable
        label={`DNS records of ${hostname}`}
        rows={records}
        keyOf={({ type, name, value }) => `${type} ${name} ${value}`}
        columns={[
          { title: 'Type', isHeading: true, cell: ({ type }) => <b>{type}</b> },
          {
            title: 'Name',
            cell: ({ name, value }) => <RecordText text={name} what="name" canCopy={!isLoopbackRecord(value, hint)} />,
          },
          {
            title: 'Value',
            cell: ({ value }) => <RecordText text={value} what="value" canCopy={!isLoopbackRecord(value, hint)} />,
          },
          { title: 'Last check', cell: ({ type }) => <StatusBadge status={recordStatus(type, domain)} /> },
        ]}
      />
    </Section>
  )
}

const RecordText = ({ text, what, canCopy }: { text: string; what: string; canCopy: boolean }) => (
  <span>
    <span className="mono break-all">{text}</span> {canCopy && <CopyText value={text} label={`Copy the ${what} ${text}`} />}
  </span>
)
