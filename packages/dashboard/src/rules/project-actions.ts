import type { Project } from '@berth/contract'

type Refusal = string | undefined

export function deployRefusal({ enabled, status, source }: Pick<Project, 'enabled' | 'status' | 'source'>): Refusal {
  if (status === 'deleting') return 'It is being deleted.'
  if (!enabled) return 'The project is disabled: enable it in its settings first.'
  return source.kind === 'none' ? 'It has no source yet: link a repository or upload a folder.' : undefined
}
