import { Anchor, Center, Group, Image, Paper, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { useHealth } from '../queries/access.ts'

/** The frame of every page that is seen before signing in. */
export function FrontPage({ title, children }: { title: string; children: ReactNode }) {
  const health = useHealth()
  return (
    <Center mih="100vh" p="md">
      <Stack w={400} gap="lg">
        <Group gap="sm" justify="center">
          <Image src="/berth.svg" w={36} h={36} alt="" />
          <Title order={1} size="h2">
            Berth
          </Title>
        </Group>
        <Paper withBorder shadow="sm" p="xl" component="main">
          <Title order={2} size="h4" mb="md">
            {title}
          </Title>
          {children}
        </Paper>
        <Text c="dimmed" size="sm" ta="center">
          {health.data ? `version ${health.data.version} · ${health.data.mode}` : ' '} ·{' '}
          <Anchor href="/api/docs" size="sm">
            API reference
          </Anchor>
        </Text>
      </Stack>
    </Center>
  )
}
