import type { Project } from '@berth/contract'
import { ExternalLink } from '../../components/external-link.tsx'
import { addressOf, wasDeployed } from '../../rules/find-projects.ts'
import classes from './project-list.module.css'

/** The address as a link. Before the first deployment it is text: it leads nowhere yet. */
export function ProjectAddress({ project }: { project: Project }) {
  const address = addressOf(project)
  if (!address) return <span className={classes.address} />
  return (
    <span className={classes.address}>
      {wasDeployed(project) ? <ExternalLink url={address} /> : <span>{address.replace(/^https?:\/\//, '')}</span>}
    </span>
  )
}
