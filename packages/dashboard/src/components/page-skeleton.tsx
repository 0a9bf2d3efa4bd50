import { Skeleton } from '@mantine/core'
import classes from './page.module.css'
import { SkeletonRows } from './skeleton-rows.tsx'

/** Shown while a page is loading. */
export function PageSkeleton() {
  return (
    <div className={classes.page}>
      <Skeleton height={34} width={220} />
      <SkeletonRows rows={5} />
    </div>
  )
}
