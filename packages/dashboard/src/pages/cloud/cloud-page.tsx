import { contract } from '@berth/contract'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { useRead } from '../../data/read.ts'
import { CloudProjects } from './cloud-projects.tsx'
import { LinkForm } from './link-form.tsx'
import { LinkState } from './link-state.tsx'

/** The link to the cloud service, and the location of each project. */
export function CloudPage() {
  const link = useRead(contract.cloud.getLink, {}, { refetchIntervalMs: 15_000 })
  return (
    <Page
      title="Cloud"
      description="Link this instance to a cloud to transfer projects with their data, and manage projects in both places."
    >
      <Loaded query={link}>
        {(state) => (
          <>
            {state.linked ? <LinkState link={state} /> : <LinkForm />}
            <CloudProjects isLinked={state.linked} />
          </>
        )}
      </Loaded>
    </Page>
  )
}
