import type { Project } from '@berth/contract'
import { operationUnderWay } from './status-advice.ts'

type Refusal = string | undefined

export function deployRefusal(project: Pick<Project, 'enabled' | 'status' | 'statusReason' | 'source'>): Refusal {
  const { enabled, status, source } = project
  if (status === 'deleting') return 'It is being deleted.'
  const operation = operationUnderWay(project)
  if (operation) return `It is being ${operation}: deploy it when that has ended.`
  if (!enabled) return 'The project is disabled: enable it in its settings first.'
  return source.kind === 'none' ? 'It has no source yet: link a repository, upload a folder or set an image.' : undefined
}
