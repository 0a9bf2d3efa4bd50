import { IconPlugConnectedX } from '@tabler/icons-react'
import { useHasLostConnection } from '../data/lost-connections.ts'
import classes from './connection-note.module.css'

/** A notice that the connection is lost, so that the page may be outdated. */
export function ConnectionNote() {
  const isLost = useHasLostConnection()
  return (
    <div role="status" className={classes.container}>
      {isLost && (
        <div className={classes.note}>
          <IconPlugConnectedX size={16} aria-hidden /> The connection to the server is lost. Trying again…
        </div>
      )}
    </div>
  )
}
