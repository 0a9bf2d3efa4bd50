import { isLevelAtLeast, levelOfRole, type Role } from '@berth/contract'
import type { GitHostDeps } from './deps.ts'

/** The user for whom repositories are filtered. */
export interface Viewer {
  organizationId: string
  role: Role
}

/** Ends the messages for a repository that does not exist or is hidden, so that they do not tell which of the two. */
export const noAccessAdvice = 'Check the name, or connect another account.'

export const allVisible: IsVisible = () => true

export type IsVisible = (owner: string, repo: string) => boolean

/** Owners and admins see every repository; others only those that the organisation allows for members. */
export async function visibilityFor({ organizationId, role }: Viewer, { people }: GitHostDeps): Promise<IsVisible> {
  if (isLevelAtLeast(levelOfRole[role], 'admin')) return allVisible
  const allowed = await people.memberRepositories(organizationId)
  if (allowed === null) return allVisible
  const patterns = new Set(allowed.map((pattern) => pattern.toLowerCase()))
  return (owner, repo) => patterns.has(`${owner}/*`.toLowerCase()) || patterns.has(`${owner}/${repo}`.toLowerCase())
}
