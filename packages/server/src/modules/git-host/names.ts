import { GitName, GitOwner } from '@berth/contract'
import type { RepositoryName } from '../../drivers/git-host/repository-name.ts'
import { refuse } from '../../platform/failure.ts'

const formOf = (schema: object) => schema as { pattern: string; maxLength: number }
const fits = (schema: object, text: string) =>
  text.length <= formOf(schema).maxLength && new RegExp(formOf(schema).pattern, 'u').test(text)

/** Validates names from the path: they become part of a URL at the host and must not change its target. */
export function checkedName({ owner, repo }: { owner: string; repo: string }): RepositoryName {
  checkedOwner(owner, 'owner')
  if (!fits(GitName, repo) || repo.endsWith('.git')) refuse('repo', 'is not a valid repository name')
  return { owner, repo }
}

export function checkedOwner(owner: string, field: 'owner' | 'org'): string {
  if (!fits(GitOwner, owner)) refuse(field, 'is not a valid account or organisation name')
  return owner
}
