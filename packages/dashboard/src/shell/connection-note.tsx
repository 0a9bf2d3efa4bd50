import { IconPlugConnectedX } from '@tabler/icons-react'
import { useHasLostConnection } from '../data/lost-connections.ts'
import classes from './connection-note.module.css'

/** Says that what is seen may be old; goes away by itself. */
export function ConnectionNote() {
  const isLost = useHasLostConnection()
  return (
    <div role="status" className={classes.place}>
      {isLost && (
        <div className={classes.note}>
          <IconPlugConnectedX size={16} aria-hidden /> The connection to the server is lost. Trying again…
        </div>
      )}
    </div>
  )
}
