import { Skeleton, Stack } from '@mantine/core'

export function SkeletonRows({ rows = 4, height = 44 }: { rows?: number; height?: number }) {
  return (
    <Stack gap="xs" p="md" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, at) => (
        <Skeleton key={at} height={height} radius="sm" />
      ))}
    </Stack>
  )
}
