import { contract } from '@berth/contract'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { Section } from '../../components/section.tsx'
import { useRead } from '../../data/read.ts'
import { AddDestination } from './add-destination.tsx'
import { AllPolicies } from './all-policies.tsx'
import { DeletedProjects } from './deleted-projects.tsx'
import { DestinationTable } from './destination-table.tsx'
import { InstanceSection } from './instance-section.tsx'

/** Backup destinations, and all policies with the time of their last verification. */
export function DestinationsPage() {
  const destinations = useRead(contract.backups.listDestinations, { query: {} })
  return (
    <Page title="Backups" description="Destinations, the policies of all projects, and the backup of the instance itself.">
      <Section title="Destinations" isFlush>
        <Loaded query={destinations}>{(rows) => <DestinationTable destinations={rows} />}</Loaded>
      </Section>
      <AddDestination isFirst={destinations.data?.length === 0} />
      <AllPolicies />
      <InstanceSection />
      <DeletedProjects />
    </Page>
  )
}
