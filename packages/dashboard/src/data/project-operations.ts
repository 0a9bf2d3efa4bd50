import { contract, type Project } from '@berth/contract'
import { useNavigate } from '@tanstack/react-router'
import { useChange } from './change.ts'
import { call } from './client.ts'
import { showError } from './notices.tsx'
import { projectReads } from './project.ts'

/** Deploys, redeploys or restarts a project from anywhere in the dashboard, and opens the new deployment. */
export function useProjectOperations() {
  const navigate = useNavigate()
  const refreshes = [...projectReads, contract.projects.listDeployments]
  const build = useChange(contract.deployments.build, { refreshes })
  const again = useChange(contract.deployments.redeploy, { refreshes })
  const start = useChange(contract.deployments.restart, { refreshes })
  const open = {
    onSuccess: ({ data: { projectId, deploymentId } }: { data: { projectId: string; deploymentId: string } }) =>
      navigate({ to: '/projects/$id/deployments/$deploymentId', params: { id: projectId, deploymentId } }),
  }
  const deploy = ({ id }: Pick<Project, 'id'>) => build.mutate({ body: { projectId: id } }, open)
  const redeploy = async ({ id, name }: Pick<Project, 'id' | 'name'>) => {
    const query = { limit: 1, environment: 'production' }
    const { data } = await call(contract.projects.listDeployments, { params: { id }, query })
    const [newest] = data
    if (!newest) throw new Error(`${name} has no deployment yet. Deploy it first.`)
    again.mutate({ params: { id: newest.id } }, open)
  }
  return {
    deploy,
    redeploy: (project: Pick<Project, 'id' | 'name'>) => void redeploy(project).catch(showError),
    restart: ({ id }: Pick<Project, 'id'>) => start.mutate({ params: { id }, body: {} }, open),
  }
}
