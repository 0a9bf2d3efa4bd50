import { contract } from '@berth/contract'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { Section } from '../../components/section.tsx'
import { useRead } from '../../data/read.ts'
import { AddServer } from './add-server.tsx'
import { ServerTable } from './server-table.tsx'

/** Servers that Berth connects to over SSH. */
export function ServersPage() {
  const servers = useRead(contract.servers.list, { query: {} }, { refetchIntervalMs: 15_000 })
  return (
    <Page
      title="Servers"
      description="Servers with Docker, connected over SSH. Run projects there, or adopt their running services."
    >
      <Section isFlush>
        <Loaded query={servers}>{(rows) => <ServerTable servers={rows} />}</Loaded>
      </Section>
      <AddServer isFirst={servers.data?.length === 0} />
    </Page>
  )
}
