import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { Plain } from '../exit-codes.ts'
import { output } from '../output.ts'
import { projectIdOf } from '../project-link.ts'

export function addOpen(program: Command): void {
  program
    .command('open')
    .description('print where the project is')
    .option('--project <id>', 'which project (default: the one this folder is linked to)')
    .action(async (_options, command: Command) => {
      const { data } = await connect(command).call(contract.projects.get, { params: { id: projectIdOf(command) } })
      const route = data.routes.find(({ primary }) => primary) ?? data.routes[0]
      if (!route) throw new Plain(`${data.name} answers no requests: it is a ${data.type}`)
      output(command).result(route, () => route.url)
      if (data.status !== 'live') output(command).note(`it is ${data.status}${data.statusReason ? `: ${data.statusReason}` : ''}`)
    })
}
