import type { Project } from '@berth/contract'
import { runningOperation } from './status-advice.ts'

type Refusal = string | undefined

export function deployRefusal(project: Pick<Project, 'enabled' | 'status' | 'statusReason' | 'source'>): Refusal {
  const { enabled, status, source } = project
  if (status === 'deleting') return 'It is being deleted.'
  const operation = runningOperation(project)
  if (operation) return `The project is being ${operation}. Deploy it when that ends.`
  if (!enabled) return 'The project is disabled. Enable it in its settings first.'
  return source.kind === 'none' ? 'The project has no source. Link a repository, upload a folder or set an image.' : undefined
}
