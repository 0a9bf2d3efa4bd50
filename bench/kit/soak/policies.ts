import type { Hosting } from '../../../tests/kit/hosting.ts'
import type { SoakProject } from './fleet.ts'

/**
 * Backup policies with a short retention, so that their stored data has a constant size: those of the restored projects and of
 * two more.
 */
export async function makePolicies(hosting: Hosting, fleet: readonly SoakProject[]): Promise<Map<SoakProject, string>> {
  const made = async (path: string, body: object): Promise<string> => {
    const answer = await hosting.api('POST', path, body)
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body.data.id
  }
  const destinationId = await made('/backup-destinations', { name: 'soak', kind: 'local', config: { path: 'soak' } })
  const backedUp = [
    ...fleet.filter(({ role }) => role === 'restored'),
    ...fleet.filter(({ role }) => role === 'steady').slice(0, 2),
  ]
  const policies = new Map<SoakProject, string>()
  for (const project of backedUp)
    policies.set(project, await made(`/projects/${project.id}/backup-policies`, { destinationId, retainCount: 2 }))
  return policies
}
