import type { Domain } from '@berth/contract'
import { useState } from 'react'
import { ProjectPage } from '../project-page.tsx'
import { AddDomain } from './add-domain.tsx'
import { DnsRecords } from './dns-records.tsx'
import { RouteTable } from './route-table.tsx'

/** Where the project is reached, what DNS has to say for it, and how its certificates stand. */
export function DomainsPage() {
  const [shown, setShown] = useState<Domain>()
  return (
    <ProjectPage
      title="Domains"
      description="The free domain works immediately. Your own domain works once its DNS records point here."
    >
      {(project) => (
        <>
          {shown && <DnsRecords domain={shown} />}
          <RouteTable project={project} onShown={setShown} />
          <AddDomain project={project} onConnected={setShown} />
        </>
      )}
    </ProjectPage>
  )
}
