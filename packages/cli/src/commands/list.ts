import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { columns, output } from '../output.ts'

export function addList(program: Command): void {
  program
    .command('list')
    .alias('ls')
    .description('your projects, here and in the cloud')
    .action(async (_options, command: Command) => {
      const { data, cloud } = await connect(command).call(contract.projects.home)
      const rows = data.map(({ id, name, status, routes, location }) => [name, status, location, primaryUrl(routes), id])
      output(command).result(data, () =>
        rows.length > 0
          ? columns([['NAME', 'STATUS', 'WHERE', 'ADDRESS', 'ID'], ...rows])
          : 'there are no projects yet: berth deploy in a folder makes the first one',
      )
      if (cloud.linked && !cloud.reachable) output(command).note('the cloud does not answer: its projects are not shown')
    })
}

export const primaryUrl = (routes: readonly { primary: boolean; url: string }[]): string =>
  (routes.find(({ primary }) => primary) ?? routes[0])?.url ?? '-'
