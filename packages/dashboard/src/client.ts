import { createClient } from '@berth/contract/client'

/** The browser sends the session cookie by itself; the API is on the page's own origin. */
export const { call } = createClient({ baseUrl: window.location.origin })
