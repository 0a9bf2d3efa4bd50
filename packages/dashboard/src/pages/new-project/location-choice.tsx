import { contract } from '@berth/contract'
import { NativeSelect } from '@mantine/core'
import { useRead } from '../../data/read.ts'
import { useRefusal } from '../../data/refusal.ts'

interface Props {
  value: string
  onChange(serverId: string): void
}

/** Selects this machine or a server; hidden if there are no servers. */
export function LocationChoice({ value, onChange }: Props) {
  const refusal = useRefusal('server:write')
  const { data: servers = [] } = useRead(contract.servers.list, { query: {} }, { isEnabled: !refusal })
  if (servers.length === 0) return null
  return (
    <NativeSelect
      label="Server"
      value={value}
      data={[
        { value: '', label: 'This machine' },
        ...servers.map(({ id, name, host }) => ({ value: id, label: `On ${name} (${host})` })),
      ]}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}
