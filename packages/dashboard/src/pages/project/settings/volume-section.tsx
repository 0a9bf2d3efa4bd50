import { contract, type Project, type Volume } from '@berth/contract'
import { ActionIcon, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { SaveFooter } from '../../../components/save-footer.tsx'
import { Section } from '../../../components/section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { projectReads } from '../../../data/project.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'

const namePattern = '[a-zA-Z0-9][a-zA-Z0-9_.\\-]*'

/** Volumes: folders that are kept between deployments and included in backups. */
export function VolumeSection({ project }: { project: Project }) {
  const [volumes, setVolumes] = useState<readonly Volume[]>(project.config.volumes)
  const refusal = useProjectRefusal(project.id, 'write')
  const save = useChange(contract.projects.setOptions, {
    refreshes: projectReads,
    successMessage: 'Saved. Takes effect with the next deployment.',
  })
  const set = (at: number, change: Partial<Volume>) =>
    setVolumes(volumes.map((one, index) => (index === at ? { ...one, ...change } : one)))
  return (
    <form onSubmit={submitting(() => save.mutate({ params: { id: project.id }, body: { volumes: [...volumes] } }))}>
      <Section
        title="Volumes"
        description="Folders that persist across versions. Backups include them."
        actions={
          !refusal && (
            <Button
              size="xs"
              variant="default"
              leftSection={<IconPlus size={14} />}
              onClick={() => setVolumes([...volumes, { name: '', mountPath: '' }])}
            >
              Add a volume
            </Button>
          )
        }
        footer={
          <SaveFooter refusal={refusal} isPending={save.isPending}>
            A removed volume is no longer mounted. Its data is kept.
          </SaveFooter>
        }
      >
        <Stack gap="xs">
          {volumes.length === 0 && (
            <Text size="sm" c="dimmed">
              No volumes: files that the project writes are lost with the next deployment.
            </Text>
          )}
          {volumes.map(({ name, mountPath }, at) => (
            <Group key={at} gap="xs" wrap="nowrap" align="flex-end">
              <TextInput
                flex="1 1 6rem"
                label={at === 0 && 'Name'}
                aria-label={`Name of volume ${at + 1}`}
                placeholder="data"
                required
                maxLength={63}
                pattern={namePattern}
                title="Letters, digits, dots, _ and -"
                readOnly={!!refusal}
                value={name}
                onChange={(event) => set(at, { name: event.currentTarget.value })}
              />
              <TextInput
                flex="2 1 8rem"
                label={at === 0 && 'Folder'}
                aria-label={`Folder of volume ${at + 1}`}
                placeholder="/data"
                required
                maxLength={300}
                pattern="/.+"
                title="Begins with /"
                classNames={{ input: 'mono' }}
                readOnly={!!refusal}
                value={mountPath}
                onChange={(event) => set(at, { mountPath: event.currentTarget.value })}
              />
              {!refusal && (
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  size={36}
                  aria-label={`Remove volume ${name || at + 1}`}
                  onClick={() => setVolumes(volumes.filter((_, index) => index !== at))}
                >
                  <IconTrash size={16} />
                </ActionIcon>
              )}
            </Group>
          ))}
        </Stack>
      </Section>
    </form>
  )
}
