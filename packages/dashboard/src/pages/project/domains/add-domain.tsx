import { contract, hostNameIn, type Project } from '@berth/contract'
import { Group, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { AddSection } from '../../../components/add-section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { domainReads } from '../../../data/project.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'

export function AddDomain({ project, isFirst }: { project: Project; isFirst: boolean }) {
  const [domain, setDomain] = useState('')
  const refusal = useProjectRefusal(project.id, 'write')
  const connect = useChange(contract.projects.connectDomain, { refreshes: domainReads, hidesErrorNotice: true })
  const add = () =>
    connect.mutate({ params: { id: project.id }, body: { domain: hostNameIn(domain) } }, { onSuccess: () => setDomain('') })
  return (
    <AddSection
      isFirst={isFirst}
      refusal={refusal}
      title="Add domain"
      description="It becomes the primary domain. The DNS records to create are then shown above."
    >
      <form onSubmit={submitting(add)}>
        <Group align="flex-start" gap="sm">
          <TextInput
            flex="1 1 14rem"
            aria-label="Domain"
            placeholder="shop.example.com"
            required
            value={domain}
            error={connect.error?.message}
            onChange={(event) => setDomain(event.currentTarget.value)}
          />
          <ActionButton type="submit" refusal={refusal} loading={connect.isPending}>
            Connect
          </ActionButton>
        </Group>
      </form>
    </AddSection>
  )
}
