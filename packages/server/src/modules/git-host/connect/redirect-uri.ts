import type { GitHostDeps } from '../deps.ts'

/** The URL to which git hosts redirect browsers. */
export const redirectUri = ({ publicUrl }: Pick<GitHostDeps, 'publicUrl'>): string =>
  `${publicUrl()}/api/gitprovider/connect/redirect`
