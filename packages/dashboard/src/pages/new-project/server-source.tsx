import { Text } from '@mantine/core'
import { ButtonLink } from '../../components/router-link.tsx'

export function ServerSource() {
  return (
    <>
      <Text size="sm" mb="md">
        Berth scans Docker on your server over SSH and adopts the services that you select, with their volumes. Nothing on the
        server changes until you deploy.
      </Text>
      <ButtonLink to="/servers">Choose a server</ButtonLink>
    </>
  )
}
