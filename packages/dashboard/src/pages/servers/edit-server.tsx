import { contract, type Server } from '@berth/contract'
import { FieldsDialog } from '../../components/fields-dialog.tsx'
import { useChange } from '../../data/change.ts'
import { serverBody, serverFields } from '../../rules/server-form.ts'

interface Props {
  server: Server
  onClose(): void
}

export function EditServer({ server, onClose }: Props) {
  const { id, name, host, port, user, dockerSocket } = server
  const update = useChange(contract.servers.update, {
    refreshes: [contract.servers.get, contract.servers.list],
    successMessage: 'Changed. Check the connection.',
    hidesErrorNotice: true,
  })
  return (
    <FieldsDialog
      title={`Change ${name}`}
      fields={serverFields}
      stored={{ name, host, port: String(port), user, dockerSocket }}
      isPending={update.isPending}
      error={update.error}
      onSave={(changed) => update.mutate({ params: { id }, body: serverBody(changed) }, { onSuccess: onClose })}
      onClose={onClose}
    />
  )
}
