import type { GitHostDeps } from '../deps.ts'

/** Where git hosts send browsers back to. */
export const redirectUri = ({ publicUrl }: Pick<GitHostDeps, 'publicUrl'>): string =>
  `${publicUrl()}/api/gitprovider/connect/redirect`
