import { contract, type StoragePlace } from '@berth/contract'
import { Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Section } from '../../components/section.tsx'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { sizeWords } from '../../words/sizes.ts'

type Row = StoragePlace['projects'][number] & { place: string }

/** Disk use of builds. Only operators of the instance are shown it. */
export function StorageSection() {
  const [isAsking, setAsking] = useState(false)
  const storage = useRead(contract.deployments.storage, {})
  const cleanUp = useChange(contract.deployments.cleanUpStorage, {
    refreshes: [contract.deployments.storage],
    says: ({ data }) => `${sizeWords(data.freedBytes)} freed.`,
  })
  if (!storage.data) return null
  const { places } = storage.data
  const rows = places.flatMap((place) => place.projects.map((project) => ({ ...project, place: nameOf(place) })))
  const columns: Column<Row>[] = [
    { title: 'Project', isHeading: true, cell: ({ name, projectId }) => name ?? `${projectId} (deleted)` },
    { title: 'Where', cell: ({ place }) => place },
    { title: 'Artifacts', isNumber: true, cell: ({ artifactsBytes }) => sizeWords(artifactsBytes) },
    { title: 'Build cache', isNumber: true, cell: ({ cacheBytes }) => sizeWords(cacheBytes) },
  ]
  return (
    <Section
      title="Storage"
      description="Disk use of builds on this instance: images and folders of deployments, and the cache that makes later builds faster."
      footer={
        <ActionButton variant="default" loading={cleanUp.isPending} onClick={() => setAsking(true)}>
          Clean up
        </ActionButton>
      }
    >
      <Stack gap="xs">
        {places.map((place) => (
          <Text key={place.serverId ?? ''} size="sm">
            {nameOf(place)}: {place.error ?? usedText(place)}
          </Text>
        ))}
        {rows.length > 0 && <DataTable label="Storage by project" rows={rows} columns={columns} keyOf={rowKey} />}
      </Stack>
      <ConfirmDialog
        isOpen={isAsking}
        title="Clean up storage"
        action="Clean up"
        onClose={() => setAsking(false)}
        onConfirm={() => {
          setAsking(false)
          cleanUp.mutate({})
        }}
      >
        Removes artifacts that no deployment uses and the whole build cache. Running projects and rollbacks are kept. The next
        build of each project takes longer.
      </ConfirmDialog>
    </Section>
  )
}

const rowKey = ({ projectId, place }: Row) => `${place} ${projectId}`

const nameOf = ({ serverId }: StoragePlace) => (serverId === null ? 'This machine' : `Server ${serverId}`)

function usedText({ artifactsBytes, cacheBytes, cacheMaxBytes, disk }: StoragePlace): string {
  const most = cacheMaxBytes === null ? '' : ` of at most ${sizeWords(cacheMaxBytes)}`
  const free = disk ? `, ${sizeWords(disk.freeBytes)} of ${sizeWords(disk.totalBytes)} free` : ''
  return `artifacts ${sizeWords(artifactsBytes)}, build cache ${sizeWords(cacheBytes)}${most}${free}`
}
