import { contract, type Project } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { columns, output } from '../output.ts'

export function addList(program: Command): void {
  program
    .command('list')
    .alias('ls')
    .description('list your projects, here and in the cloud')
    .action(async (_options, command: Command) => {
      const { data, cloud } = await connect(command).call(contract.projects.home)
      const rows = data.map((project) => [project.name, project.status, project.location, addressOf(project), project.id])
      output(command).result(data, () =>
        rows.length > 0
          ? columns([['NAME', 'STATUS', 'WHERE', 'ADDRESS', 'ID'], ...rows])
          : 'no projects yet: run berth deploy in a folder to create one',
      )
      if (cloud.linked && !cloud.reachable) output(command).note('the cloud is unreachable: its projects are not shown')
    })
}

/** The current address. A linked cloud of an earlier release sends only the routes. */
export const addressOf = ({ url, routes }: Pick<Project, 'url' | 'routes'>): string =>
  url ?? (routes.find(({ primary }) => primary) ?? routes[0])?.url ?? '-'
