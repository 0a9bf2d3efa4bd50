import { Skeleton } from '@mantine/core'
import { Outlet, useRouterState } from '@tanstack/react-router'
import { Suspense, useEffect, useRef, useState } from 'react'
import { ErrorState } from '../components/error-state.tsx'
import { lazyPart } from '../components/lazy-part.ts'
import { Page } from '../components/page.tsx'
import { useSession } from '../data/session.ts'
import { CommandKeys } from './command-keys.tsx'
import { ConnectionNote } from './connection-note.tsx'
import { Navigation } from './navigation.tsx'
import classes from './shell.module.css'
import { TopBar } from './top-bar.tsx'

const SignInPage = lazyPart(() => import('../pages/access/sign-in-page.tsx'), 'SignInPage')
const SecondFactorGate = lazyPart(() => import('./second-factor-gate.tsx'), 'SecondFactorGate')

/** The frame around every page of a signed-in user; other visitors sign in first and then see the page they requested. */
export function Shell() {
  const session = useSession()
  // The session may be read again while the recovery codes are shown: the gate stays until the user has stored them.
  const [showsRecoveryCodes, setShowsRecoveryCodes] = useState(false)
  if (session.isPending) return <ShellSkeleton />
  if (session.error && !session.data)
    return (
      <main>
        <Page title="Berth">
          <ErrorState error={session.error} onRetry={() => void session.refetch()} />
        </Page>
      </main>
    )
  if (!session.data)
    return (
      <Suspense fallback={<ShellSkeleton />}>
        <SignInPage />
      </Suspense>
    )
  if (session.data.needsSecondFactor || showsRecoveryCodes)
    return (
      <Suspense fallback={<ShellSkeleton />}>
        <SecondFactorGate onRecoveryCodes={setShowsRecoveryCodes} />
      </Suspense>
    )
  return <SignedInShell />
}

function SignedInShell() {
  const drawer = useRef<HTMLDialogElement>(null)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  useEffect(() => drawer.current?.close(), [path])
  return (
    <div className={classes.shell}>
      <a href="#content" className={classes.skip}>
        Skip to the content
      </a>
      <aside className={classes.side}>
        <Navigation />
      </aside>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself */}
      <dialog
        ref={drawer}
        className={classes.drawer}
        aria-label="Navigation"
        onClick={(event) => event.target === drawer.current && drawer.current.close()}
      >
        <Navigation />
      </dialog>
      <div className={classes.rest}>
        <TopBar onMenu={() => drawer.current?.showModal()} />
        <ConnectionNote />
        <main id="content" tabIndex={-1} className={classes.content}>
          <Outlet />
        </main>
      </div>
      <CommandKeys />
    </div>
  )
}

function ShellSkeleton() {
  return (
    <div className={classes.shell} role="status" aria-label="Loading">
      <aside className={classes.side}>
        <Skeleton height={28} m="md" width={120} />
      </aside>
      <div className={classes.rest} />
    </div>
  )
}
