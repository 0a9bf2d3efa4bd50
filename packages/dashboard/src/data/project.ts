import { contract, type Project } from '@berth/contract'
import { useParams } from '@tanstack/react-router'
import { useRead } from './read.ts'

export const useProjectId = (): string => (useParams({ strict: false }) as { id: string }).id

const busy = new Set<Project['status']>(['queued', 'building', 'deploying', 'deleting'])

/** The project of the address, asked for again more often while something is under way. */
export function useProject() {
  const id = useProjectId()
  return useRead(
    contract.projects.get,
    { params: { id } },
    { everyMs: (project) => (project && busy.has(project.status) ? 1000 : 5000) },
  )
}

/** Rows that show something of a project and are read again when it changes. */
export const projectReads = [contract.projects.get, contract.projects.home, contract.projects.info]

/** The same for a change of the project's domains. */
export const domainReads = [...projectReads, contract.projects.listDomains]
