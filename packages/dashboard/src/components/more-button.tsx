import { Button } from '@mantine/core'

interface Props {
  list: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage(): unknown }
}

/** Loads the next page of a list. */
export function MoreButton({ list }: Props) {
  if (!list.hasNextPage) return null
  return (
    <Button variant="subtle" fullWidth loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
      Show more
    </Button>
  )
}
