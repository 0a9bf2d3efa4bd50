import type { Deployment, Project } from '@berth/contract'
import { FrameworkIcon } from '../../components/framework-icon.tsx'
import { PlainLink } from '../../components/plain-link.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { sourceText } from '../../rules/find-projects.ts'
import { lastErrorOf } from '../../rules/last-error.ts'
import { deploymentText, deploymentVerb } from '../../rules/newest-deployments.ts'
import { ProjectAddress } from './project-address.tsx'
import classes from './project-list.module.css'

interface Props {
  project: Project
  deployment: Deployment | undefined
}

export function ProjectCard({ project, deployment }: Props) {
  const framework = deployment?.plan?.framework ?? project.config.framework
  const error = lastErrorOf(project, deployment)
  return (
    <article className={classes.card}>
      <div className={classes.head}>
        <FrameworkIcon framework={framework} type={deployment?.plan?.type ?? project.type} />
        <PlainLink to={`/projects/${project.id}`} className={classes.name} title={project.name}>
          {project.name}
        </PlainLink>
        {project.location === 'cloud' && <span className={classes.cloud}>cloud</span>}
      </div>
      <StatusBadge status={project.status} title={project.statusReason} />
      <ProjectAddress project={project} />
      <div className={classes.foot}>
        {error ? (
          <div className={`${classes.line} ${classes.error}`} title={error}>
            {error}
          </div>
        ) : (
          <div className={classes.line}>{sourceText(project)}</div>
        )}
        <div className={classes.line}>
          {deployment?.commit && <code className={classes.commit}>{deployment.commit.sha.slice(0, 7)}</code>}
          {deployment && deploymentText(deployment)}
        </div>
        <div className={classes.line}>
          {framework && <span className={classes.framework}>{framework}</span>}
          {deploymentVerb(deployment)} <TimeAgo time={deployment?.createdAt ?? project.createdAt} />
        </div>
      </div>
    </article>
  )
}
