import type { Project } from '@berth/contract'
import { ExternalLink } from '../../components/external-link.tsx'
import { addressOf } from '../../rules/find-projects.ts'
import { wasLive } from '../../rules/was-live.ts'
import classes from './project-list.module.css'

/** The address; a link if a version was ever live. */
export function ProjectAddress({ project }: { project: Project }) {
  const address = addressOf(project)
  if (!address) return <span className={classes.address} />
  return (
    <span className={classes.address}>
      {wasLive(project) ? <ExternalLink url={address} /> : <span>{address.replace(/^https?:\/\//, '')}</span>}
    </span>
  )
}
