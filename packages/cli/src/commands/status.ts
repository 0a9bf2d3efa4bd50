import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { columns, minute, output } from '../output.ts'
import { projectIdOf, projectOption } from '../project-link.ts'
import { primaryUrl } from './list.ts'

export function addStatus(program: Command): void {
  program
    .command('status')
    .description('how the project is, where it is and what was deployed last')
    .option(...projectOption)
    .action(async (_options, command: Command) => {
      const client = connect(command)
      const params = { id: projectIdOf(command) }
      const [{ data: project }, { data: newest }] = await Promise.all([
        client.call(contract.projects.get, { params }),
        client.call(contract.projects.listDeployments, { params, query: { limit: 1 } }),
      ])
      const [last] = newest
      const lines = [
        ['project', `${project.name} (${project.id})`],
        ['status', project.status + (project.statusReason ? `: ${project.statusReason}` : '')],
        ['address', primaryUrl(project.routes)],
        ['source', sourceOf(project.source)],
        ['deployed', last ? `number ${last.number}, ${last.status}, ${minute(last.createdAt)}` : 'never'],
      ]
      output(command).result({ ...project, lastDeployment: last ?? null }, () => columns(lines))
    })
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
  const from = owner && repo ? `${owner}/${repo}` : (url ?? path)
  return [kind, from, branch].filter(Boolean).join(' ')
}
