import { contract, type DeploymentPlan, type Project, type ServiceStatus } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { columns, minute, output } from '../output.ts'
import { projectIdOf, projectOption } from '../project-link.ts'
import { addressOf } from './list.ts'

export function addStatus(program: Command): void {
  program
    .command('status')
    .description('show the status, address and last deployment of the project')
    .option(...projectOption)
    .action(async (_options, command: Command) => {
      const client = connect(command)
      const params = { id: projectIdOf(command) }
      const [{ data: project }, { data: newest }, { data: serving }] = await Promise.all([
        client.call(contract.projects.get, { params }),
        client.call(contract.projects.listDeployments, { params, query: { limit: 1 } }),
        client.call(contract.projects.listDeployments, {
          params,
          query: { status: 'live', environment: 'production', limit: 1 },
        }),
      ])
      const [last] = newest
      const pending = pendingText(project)
      const lines = [
        ['project', `${project.name} (${project.id})`],
        ['status', project.status + (project.statusReason ? `: ${project.statusReason}` : '')],
        ...(project.services ?? []).map((service, at) => [at === 0 ? 'services' : '', serviceOf(service)]),
        ['address', addressOf(project)],
        ['source', sourceOf(project.source)],
        ['deployed', last ? `number ${last.number}, ${last.status}, ${minute(last.createdAt)}` : 'never'],
        ...(serving[0]?.plan ? [['running', planOf(serving[0].plan)]] : []),
        ...(pending ? [['waiting', pending]] : []),
      ]
      output(command).result({ ...project, lastDeployment: last ?? null }, () => columns(lines))
    })
}

function serviceOf({ name, status, restarts, lastExit }: ServiceStatus): string {
  const restartText = restarts === 0 ? null : restarts === 1 ? '1 restart' : `${restarts} restarts`
  return `${name}: ${[status, restartText, lastExit && exitOf(lastExit)].filter(Boolean).join(', ')}`
}

function exitOf({ code, reason, at }: NonNullable<ServiceStatus['lastExit']>): string {
  const reasonText = reason === 'exit' ? '' : ` (${reason.replaceAll('_', ' ')})`
  return `last exit ${code === null ? '' : `code ${code}`}${reasonText} at ${minute(at)}`.replace('  ', ' ')
}

/** How the live deployment runs. Without the plan's port: it is a container's, and a plain process listens on another one. */
function planOf({ type, framework, startCommand }: DeploymentPlan): string {
  return [framework ? `${type} (${framework})` : type, startCommand].filter(Boolean).join(', ')
}

function pendingText({ pendingChanges = [], type }: Project): string | null {
  if (pendingChanges.length === 0) return null
  const needsBuild = pendingChanges.includes('source') || pendingChanges.includes('config') || type === 'static'
  const build = pendingChanges.includes('source') ? 'deploy to apply it' : 'apply it with berth redeploy'
  const remedy = needsBuild ? build : 'apply it with berth restart'
  return `${pendingChanges.join(', ')} changed since the live deployment was made: ${remedy}`
}

function sourceOf({
  kind,
  owner,
  repo,
  branch,
  url,
  path,
}: {
  kind: string
  owner: string | null
  repo: string | null
  branch: string | null
  url: string | null
  path: string | null
}): string {
  const origin = owner && repo ? `${owner}/${repo}` : (url ?? path)
  return [kind, origin, branch].filter(Boolean).join(' ')
}
