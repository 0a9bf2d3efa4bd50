import { contract, type Project } from '@berth/contract'
import { useParams } from '@tanstack/react-router'
import { useRead } from './read.ts'

export const useProjectId = (): string => (useParams({ strict: false }) as { id: string }).id

const busyStatuses = new Set<Project['status']>(['queued', 'building', 'deploying', 'deleting'])

/** The project of the page's URL. It is polled more often while it is being deployed or deleted. */
export function useProject() {
  const id = useProjectId()
  return useRead(
    contract.projects.get,
    { params: { id } },
    { refetchIntervalMs: (project) => (project && busyStatuses.has(project.status) ? 1000 : 5000) },
  )
}

/** Routes whose responses contain data of a project: they are read again after a change of it. */
export const projectReads = [contract.projects.get, contract.projects.home, contract.projects.info]

/** Routes that are read again after a change of the project's domains. */
export const domainReads = [...projectReads, contract.projects.listDomains]
