import { contract, type StoragePlace } from '@berth/contract'
import { Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Section } from '../../components/section.tsx'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { useSession } from '../../data/session.ts'
import { sizeText } from '../../text/sizes.ts'

type Row = StoragePlace['projects'][number] & { location: string }

/** Disk use of builds, shown only to operators of the instance. */
export function StorageSection() {
  const [isConfirming, setConfirming] = useState(false)
  const isOperator = useSession().data?.operator ?? false
  const storage = useRead(contract.deployments.storage, {}, { isEnabled: isOperator })
  const cleanUp = useChange(contract.deployments.cleanUpStorage, {
    refreshes: [contract.deployments.storage],
    successMessage: ({ data }) => `${sizeText(data.freedBytes)} freed.`,
  })
  const servers = useRead(contract.servers.list, { query: {} }, { isEnabled: isOperator })
  const nameOf = ({ serverId }: StoragePlace) =>
    serverId === null ? 'This machine' : (servers.data?.find(({ id }) => id === serverId)?.name ?? 'Another server')
  if (!storage.data) return null
  const { places } = storage.data
  const rows = places.flatMap((place) => place.projects.map((project) => ({ ...project, location: nameOf(place) })))
  const columns: Column<Row>[] = [
    { title: 'Project', isHeading: true, cell: ({ name }) => name ?? 'A deleted project' },
    { title: 'Location', cell: ({ location }) => location },
    { title: 'Artifacts', alignRight: true, cell: ({ artifactsBytes }) => sizeText(artifactsBytes) },
    { title: 'Build cache', alignRight: true, cell: ({ cacheBytes }) => sizeText(cacheBytes) },
  ]
  return (
    <Section
      title="Storage"
      description="Disk use of builds on this instance: images and folders of deployments, and the cache that makes later builds faster."
      isFlush
      footer={
        <ActionButton size="xs" variant="default" loading={cleanUp.isPending} onClick={() => setConfirming(true)}>
          Clean up
        </ActionButton>
      }
    >
      <Stack gap={4} px={{ base: 'md', sm: 'lg' }} pb="md">
        {places.map((place) => (
          <Text key={place.serverId ?? ''} size="sm">
            {nameOf(place)}: {place.error ?? usedText(place)}
          </Text>
        ))}
      </Stack>
      {rows.length > 0 && <DataTable label="Storage by project" rows={rows} columns={columns} keyOf={rowKey} />}
      <ConfirmDialog
        isOpen={isConfirming}
        title="Clean up storage"
        action="Clean up"
        onClose={() => setConfirming(false)}
        onConfirm={() => {
          setConfirming(false)
          cleanUp.mutate({})
        }}
      >
        Removes artifacts that no deployment uses and the whole build cache. Running projects and rollbacks are kept. The next
        build of each project takes longer.
      </ConfirmDialog>
    </Section>
  )
}

const rowKey = ({ projectId, location }: Row) => `${location} ${projectId}`

function usedText({ artifactsBytes, cacheBytes, cacheMaxBytes, disk }: StoragePlace): string {
  const maximumText = cacheMaxBytes === null ? '' : ` of at most ${sizeText(cacheMaxBytes)}`
  const freeText = disk ? `, ${sizeText(disk.freeBytes)} of ${sizeText(disk.totalBytes)} free` : ''
  return `artifacts ${sizeText(artifactsBytes)}, build cache ${sizeText(cacheBytes)}${maximumText}${freeText}`
}
