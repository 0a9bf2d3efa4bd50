import { useRouterState } from '@tanstack/react-router'
import { organisationLinks } from './links.ts'
import classes from './navigation.module.css'
import { NavigationLink } from './navigation-link.tsx'
import { ProjectNavigation } from './project-navigation.tsx'

/** The main navigation: a project's pages inside a project, otherwise the organisation's. */
export function Navigation() {
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const projectId = /^\/projects\/([^/]+)/.exec(path)?.[1]
  return (
    <nav className={classes.navigation} aria-label="Main">
      <a href="/" className={classes.brand}>
        <img src="/berth.svg" width={26} height={26} alt="" />
        <span>Berth</span>
      </a>
      {projectId ? <ProjectNavigation projectId={projectId} /> : <OrganisationNavigation />}
    </nav>
  )
}

function OrganisationNavigation() {
  return (
    <>
      {organisationLinks.map(({ title, links }) => (
        <div key={title} className={classes.group}>
          <div className={classes.groupTitle}>{title}</div>
          {links.map((link) => (
            <NavigationLink key={link.to} {...link} />
          ))}
        </div>
      ))}
    </>
  )
}
