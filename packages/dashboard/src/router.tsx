import { contract } from '@berth/contract'
import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router'
import { lazyPart } from './components/lazy-part.ts'
import { PageSkeleton } from './components/page-skeleton.tsx'
import { RouteFailure } from './components/route-failure.tsx'
import { queries } from './data/query-client.ts'
import { readOptions } from './data/read.ts'
import { sessionQuery } from './data/session.ts'
import { wasSignedIn } from './data/was-signed-in.ts'
import { pages } from './pages/pages.ts'
import { NotFound } from './shell/not-found.tsx'
import { Shell } from './shell/shell.tsx'

const root = createRootRoute({ notFoundComponent: NotFound })
// The session is requested while the page's own script is still loading; components wait for it if they need it.
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: Shell,
  loader: () => void queries.prefetchQuery(sessionQuery),
})

const text = (value: unknown) => (value === undefined || value === null ? '' : String(value))
const credentials = (search: Record<string, unknown>) => ({ code: text(search.code), email: text(search.email) })

/** Pages for visitors who have not signed in. */
const publicRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: '/setup',
    validateSearch: credentials,
    component: lazyPart(() => import('./pages/access/setup-page.tsx'), 'SetupPage'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/sign-in',
    component: lazyPart(() => import('./pages/access/sign-in-page.tsx'), 'SignInPage'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/reset-password',
    validateSearch: credentials,
    component: lazyPart(() => import('./pages/access/reset-password-page.tsx'), 'ResetPasswordPage'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/sign-up',
    validateSearch: credentials,
    component: lazyPart(() => import('./pages/access/sign-up-page.tsx'), 'SignUpPage'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/invitations/$code',
    validateSearch: credentials,
    component: lazyPart(() => import('./pages/access/invitation-page.tsx'), 'InvitationPage'),
  }),
]

/** Prefetches the first page's data: immediately if a user was signed in last time, otherwise once the session is known. */
const prefetchProjects = async () => {
  if (wasSignedIn.get() || (await queries.fetchQuery(sessionQuery)))
    await queries.prefetchQuery(readOptions(contract.projects.home, {}))
}

const signedInRoutes = Object.entries(pages).map(([path, component]) =>
  createRoute({
    getParentRoute: () => shell,
    path,
    component,
    // The page repeats a failed read and shows its error.
    loader: () => void (path === '/' && prefetchProjects().catch(() => {})),
  }),
)

export const router = createRouter({
  routeTree: root.addChildren([...publicRoutes, shell.addChildren(signedInRoutes)]),
  defaultPreload: 'intent',
  defaultPendingComponent: PageSkeleton,
  defaultPendingMs: 150,
  defaultErrorComponent: RouteFailure,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
})
