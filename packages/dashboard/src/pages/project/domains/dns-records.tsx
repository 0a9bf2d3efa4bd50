import type { Domain } from '@berth/contract'
import { Text } from '@mantine/core'
import { CopyText } from '../../../components/copy-text.tsx'
import { DataTable } from '../../../components/data-table.tsx'
import { Section } from '../../../components/section.tsx'

/** The records to create at the DNS provider, ready to copy. */
export function DnsRecords({ domain }: { domain: Domain }) {
  return (
    <Section
      isFlush
      title={`DNS records of ${domain.hostname}`}
      description="Create these where the domain is managed. The TXT record proves that it is yours. Berth looks again by itself."
    >
      {domain.dnsRecords.length === 0 ? (
        <Text p="md">No records needed.</Text>
      ) : (
        <DataTable
          label="DNS records"
          rows={domain.dnsRecords}
          keyOf={({ type, name, value }) => `${type} ${name} ${value}`}
          columns={[
            { title: 'Type', isHeading: true, cell: ({ type }) => <b>{type}</b> },
            { title: 'Name', cell: ({ name }) => <Copied text={name} what="name" /> },
            { title: 'Value', cell: ({ value }) => <Copied text={value} what="value" /> },
          ]}
        />
      )}
    </Section>
  )
}

const Copied = ({ text, what }: { text: string; what: string }) => (
  <span>
    <span className="mono">{text}</span> <CopyText value={text} label={`Copy the ${what} ${text}`} />
  </span>
)
