import { Text } from '@mantine/core'
import { ButtonLink } from '../../components/router-link.tsx'

export function ServerSource() {
  return (
    <>
      <Text mb="md">
        Berth looks at what runs in Docker on a server of yours, over SSH, and takes over the services that you pick, with their
        volumes. Nothing on the server changes until you deploy.
      </Text>
      <ButtonLink to="/servers">Choose a server</ButtonLink>
    </>
  )
}
