import { type BackupDestination, contract } from '@berth/contract'
import { FieldsDialog } from '../../components/fields-dialog.tsx'
import { useChange } from '../../data/change.ts'
import { asTexts } from '../../rules/changed-fields.ts'
import { destinationConfig, destinationFields } from '../../rules/destination-form.ts'

interface Props {
  destination: BackupDestination
  onClose(): void
}

/** Edits a destination and then checks it, since the next backup relies on it. */
export function EditDestination({ destination, onClose }: Props) {
  const { id, name, kind, config } = destination
  const refreshes = [contract.backups.listDestinations]
  const check = useChange(contract.backups.checkDestination, { refreshes })
  const update = useChange(contract.backups.updateDestination, {
    refreshes,
    successMessage: 'Changed. Checking it now.',
    hidesErrorNotice: true,
  })
  const save = ({ name: newName, ...changed }: Record<string, string>) =>
    update.mutate(
      {
        params: { id },
        body: {
          ...(newName ? { name: newName } : {}),
          ...(Object.keys(changed).length > 0 ? { config: destinationConfig(kind, changed) } : {}),
        },
      },
      {
        onSuccess: () => {
          check.mutate({ params: { id } })
          onClose()
        },
      },
    )
  return (
    <FieldsDialog
      title={`Change ${name}`}
      fields={[{ name: 'name', label: 'Name' }, ...destinationFields[kind]]}
      stored={{ name, ...asTexts(config as Record<string, unknown>) }}
      isPending={update.isPending}
      error={update.error}
      onSave={save}
      onClose={onClose}
    />
  )
}
