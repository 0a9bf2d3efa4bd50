import { contract, type Project } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { Checkbox, Progress, Text } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { Section } from '../../../components/section.tsx'
import { useChange } from '../../../data/change.ts'
import { useProjectRefusal } from '../../../data/may.ts'
import { projectReads } from '../../../data/project.ts'
import { useRead } from '../../../data/read.ts'

/** To the cloud, or back from it. */
export function MoveSection({ project }: { project: Project }) {
  const [withData, setWithData] = useState(true)
  const link = useRead(contract.cloud.getLink, {})
  const noAdmin = useProjectRefusal(project.id, 'admin')
  const isHere = project.location === 'local'
  const move = useChange(isHere ? contract.projects.transferToCloud : contract.projects.transferToSelfHosted, {
    refreshes: projectReads,
    says: isHere ? 'It lives in the cloud now.' : 'It lives here now.',
  })
  // The cloud service itself has no cloud to move to.
  if (link.error instanceof ApiError && link.error.status === 404) return null
  const refusal =
    noAdmin ?? (link.data && !link.data.linked ? 'This instance is not linked to a cloud: link it on the Cloud page.' : undefined)
  return (
    <Section
      title={isHere ? 'Move to the cloud' : 'Bring back from the cloud'}
      description="It stays live where it is until the other side has everything and has checked it. Its id stays the same."
      actions={
        <ActionButton
          variant="default"
          refusal={refusal}
          loading={move.isPending}
          onClick={() => move.mutate({ params: { id: project.id }, body: { withData } })}
        >
          {isHere ? 'Move it' : 'Bring it back'}
        </ActionButton>
      }
    >
      <Checkbox
        label="With the data of its volumes"
        checked={withData}
        onChange={(event) => setWithData(event.currentTarget.checked)}
      />
      {move.isPending && (
        <>
          <Progress value={100} animated mt="md" aria-label="The transfer goes on" />
          <Text size="sm" mt={4}>
            Sending and checking. You can leave this page; the transfer goes on.
          </Text>
        </>
      )}
    </Section>
  )
}
