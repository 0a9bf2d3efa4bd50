import { contract } from '@berth/contract'
import { Group, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { submitting } from '../../components/submitting.ts'
import { useChange } from '../../data/change.ts'
import { useOperatorRefusal } from '../../data/refusal.ts'
import type { ChooserProps } from './chooser.ts'

/** A folder that is already on the server. */
export function PathSource({ onChosen, onError }: ChooserProps) {
  const [path, setPath] = useState('')
  const refusal = useOperatorRefusal()
  const scan = useChange(contract.projects.scan, { hidesErrorNotice: true })
  const check = () =>
    scan.mutate(
      { body: { path } },
      {
        onSuccess: ({ data: detection }) =>
          onChosen({
            fields: { gitProvider: 'local', localPath: path },
            name: detection.name ?? path.split('/').filter(Boolean).at(-1) ?? 'project',
            text: `The folder ${path} on the server`,
            detection,
          }),
        onError,
      },
    )
  return (
    <form onSubmit={submitting(() => check())}>
      <Group align="flex-end" gap="sm">
        <TextInput
          flex="1 1 16rem"
          label="Path on the server"
          description="Must be inside a project root of this instance (BERTH_PROJECT_ROOTS)"
          placeholder="/srv/projects/shop"
          required
          value={path}
          onChange={(event) => setPath(event.currentTarget.value)}
        />
        <ActionButton type="submit" refusal={refusal} loading={scan.isPending}>
          Scan the folder
        </ActionButton>
      </Group>
    </form>
  )
}
