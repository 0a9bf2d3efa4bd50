import { contract, type Project, type ProjectDomain } from '@berth/contract'
import { useState } from 'react'
import { Loaded } from '../../../components/loaded.tsx'
import { useChange } from '../../../data/change.ts'
import { domainReads } from '../../../data/project.ts'
import { useRead } from '../../../data/read.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { domainActions } from '../../../rules/domain-actions.ts'
import { ProjectPage } from '../project-page.tsx'
import { AddDomain } from './add-domain.tsx'
import { DnsRecords } from './dns-records.tsx'
import { RemoveDomain } from './remove-domain.tsx'
import { RouteTable } from './route-table.tsx'

/** The host names of the project, the DNS records that they need, and their certificates. */
export function DomainsPage() {
  return (
    <ProjectPage
      title="Domains"
      description="The free domain works after the first deployment. Your own domain works once its DNS records point here."
    >
      {(project) => <Domains project={project} />}
    </ProjectPage>
  )
}

function Domains({ project }: { project: Project }) {
  const domains = useRead(
    contract.projects.listDomains,
    { params: { id: project.id }, query: { limit: 500 } },
    { refetchIntervalMs: 5000 },
  )
  return <Loaded query={domains}>{(data) => <DomainSections project={project} domains={data} />}</Loaded>
}

function DomainSections({ project, domains }: { project: Project; domains: readonly ProjectDomain[] }) {
  const [shown, setShown] = useState<string>()
  const [removed, setRemoved] = useState<ProjectDomain>()
  const refusal = useProjectRefusal(project.id, 'write')
  const verify = useChange(contract.projects.verifyDomain, {
    refreshes: domainReads,
    successMessage: ({ data }) =>
      data.verified && !data.reason ? `${data.hostname} is verified.` : (data.reason ?? 'The TXT record was not found.'),
  })
  const checked = verify.isPending ? verify.variables.params.hostname : undefined
  return (
    <>
      {domains
        .filter((domain) => domainActions(domain).showsRecords || domain.hostname === shown)
        .map((domain) => (
          <DnsRecords
            key={domain.hostname}
            domain={domain}
            refusal={refusal}
            isChecking={checked === domain.hostname}
            onCheck={() => verify.mutate({ params: { id: project.id, hostname: domain.hostname } })}
          />
        ))}
      <RouteTable project={project} domains={domains} onShown={setShown} onRemoved={setRemoved} />
      <AddDomain project={project} isFirst={!domains.some(({ kind }) => kind === 'custom')} />
      {removed && <RemoveDomain projectId={project.id} domain={removed} onClose={() => setRemoved(undefined)} />}
    </>
  )
}
