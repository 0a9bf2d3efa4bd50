import { contract, type Domain, type Project } from '@berth/contract'
import { Group, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { Section } from '../../../components/section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { useProjectRefusal } from '../../../data/may.ts'
import { projectReads } from '../../../data/project.ts'

interface Props {
  project: Project
  onConnected(domain: Domain): void
}

export function AddDomain({ project, onConnected }: Props) {
  const [domain, setDomain] = useState('')
  const refusal = useProjectRefusal(project.id, 'write')
  const connect = useChange(contract.projects.connectDomain, { refreshes: projectReads, isQuiet: true })
  const add = () =>
    connect.mutate(
      { params: { id: project.id }, body: { domain } },
      {
        onSuccess: ({ data }) => {
          setDomain('')
          onConnected(data)
        },
      },
    )
  return (
    <Section title="Add domain" description="It becomes the primary domain. The DNS records to create are shown next.">
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
    </Section>
  )
}
