import { contract } from '@berth/contract'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { useRead } from '../../data/read.ts'
import { CloudProjects } from './cloud-projects.tsx'
import { LinkForm } from './link-form.tsx'
import { LinkState } from './link-state.tsx'

/** The link to the hosted service, and what lives where. */
export function CloudPage() {
  const link = useRead(contract.cloud.getLink, {}, { everyMs: 15_000 })
  return (
    <Page
      title="Cloud"
      description="Link this instance to a cloud to transfer projects with their data, and manage projects in both places."
    >
      <Loaded query={link}>
        {(now) => (
          <>
            {now.linked ? <LinkState link={now} /> : <LinkForm />}
            <CloudProjects isLinked={now.linked} />
          </>
        )}
      </Loaded>
    </Page>
  )
}
