import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router'
import { HomePage } from './pages/access/home-page.tsx'
import { InvitationPage } from './pages/access/invitation-page.tsx'
import { SetupPage } from './pages/access/setup-page.tsx'
import { SignUpPage } from './pages/access/sign-up-page.tsx'

const root = createRootRoute()
const code = (search: Record<string, unknown>) => ({ code: String(search.code ?? ''), email: String(search.email ?? '') })

const routes = [
  createRoute({ getParentRoute: () => root, path: '/', component: HomePage }),
  createRoute({ getParentRoute: () => root, path: '/setup', component: SetupPage, validateSearch: code }),
  createRoute({ getParentRoute: () => root, path: '/invitation', component: InvitationPage, validateSearch: code }),
  createRoute({ getParentRoute: () => root, path: '/sign-up', component: SignUpPage, validateSearch: code }),
]

export const router = createRouter({ routeTree: root.addChildren(routes), defaultNotFoundComponent: HomePage })
