import type { Deployment, Project } from '@berth/contract'
import { FrameworkIcon } from '../../components/framework-icon.tsx'
import { PlainLink } from '../../components/plain-link.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { deploymentVerb } from '../../rules/newest-deployments.ts'
import { ProjectAddress } from './project-address.tsx'
import classes from './project-list.module.css'

interface Props {
  project: Project
  deployment: Deployment | undefined
}

export function ProjectRow({ project, deployment }: Props) {
  return (
    <article className={`${classes.card} ${classes.flat}`}>
      <FrameworkIcon
        framework={deployment?.plan?.framework ?? project.config.framework}
        type={deployment?.plan?.type ?? project.type}
      />
      <PlainLink to={`/projects/${project.id}`} className={classes.name} title={project.name}>
        {project.name}
      </PlainLink>
      <span className={classes.status}>
        <StatusBadge status={project.status} title={project.statusReason} />
      </span>
      <ProjectAddress project={project} />
      <span className={classes.foot}>
        {deploymentVerb(deployment)} <TimeAgo time={deployment?.createdAt ?? project.createdAt} />
      </span>
    </article>
  )
}
