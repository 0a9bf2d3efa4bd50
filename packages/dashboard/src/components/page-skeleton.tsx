import { Skeleton } from '@mantine/core'
import classes from './page.module.css'
import { SkeletonRows } from './skeleton-rows.tsx'

/** A page that is being fetched. */
export function PageSkeleton() {
  return (
    <div className={classes.page}>
      <Skeleton height={34} width={220} />
      <SkeletonRows rows={5} />
    </div>
  )
}
