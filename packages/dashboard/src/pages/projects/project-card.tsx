import type { Deployment, Project } from '@berth/contract'
import { ExternalLink } from '../../components/external-link.tsx'
import { PlainLink } from '../../components/plain-link.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { addressOf, sourceText } from '../../rules/find-projects.ts'
import { deploymentText } from '../../rules/newest-deployments.ts'
import classes from './project-list.module.css'

interface Props {
  project: Project
  deployment: Deployment | undefined
}

export function ProjectCard({ project, deployment }: Props) {
  const address = addressOf(project)
  return (
    <article className={classes.card}>
      <div className={classes.head}>
        <PlainLink to={`/projects/${project.id}`} className={classes.name} title={project.name}>
          {project.name}
        </PlainLink>
        {project.location === 'cloud' && <span className={classes.cloud}>cloud</span>}
      </div>
      <StatusBadge status={project.status} title={project.statusReason} />
      {address && (
        <span className={classes.address}>
          <ExternalLink url={address} />
        </span>
      )}
      <div className={classes.foot}>
        <div className={classes.line}>{deployment ? deploymentText(deployment) : sourceText(project)}</div>
        <div>
          {deployment ? 'Deployed ' : 'Created '}
          <TimeAgo time={deployment?.createdAt ?? project.createdAt} />
        </div>
      </div>
    </article>
  )
}
