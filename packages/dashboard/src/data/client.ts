import { createClient } from '@berth/contract/client'
import { activeOrganization } from './active-organization.ts'
import { show } from './notices.tsx'

/** The browser sends the session cookie by itself; the API is on the page's own origin. */
export const { call, stream } = createClient({
  baseUrl: window.location.origin,
  onWarnings: (warnings) => show({ title: 'Warning', message: warnings.join(' · '), durationMs: 12_000 }),
  fetch: (url, init) => {
    const headers = new Headers(init.headers)
    const organization = activeOrganization.get()
    if (organization) headers.set('x-organization-id', organization)
    return globalThis.fetch(url, { ...init, headers })
  },
})
