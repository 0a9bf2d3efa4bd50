import { spawn } from 'node:child_process'
import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { CliError } from '../exit-codes.ts'
import { output } from '../output.ts'
import { projectIdOf, projectOption } from '../project-link.ts'

export function addOpen(program: Command): void {
  program
    .command('open')
    .description('open the project in a browser; without a terminal, print its address')
    .option(...projectOption)
    .option('--print', 'only print the address')
    .action(async ({ print }: { print?: boolean }, command: Command) => {
      const { data } = await connect(command).call(contract.projects.get, { params: { id: projectIdOf(command) } })
      const route = data.routes.find(({ primary }) => primary) ?? data.routes[0]
      if (!route) throw new CliError(`${data.name} has no address: it is a ${data.type}`)
      const url = data.url ?? route.url
      output(command).result({ ...route, url }, () => url)
      if (!print && process.stdout.isTTY && command.optsWithGlobals().json !== true) openInBrowser(url)
      if (data.status !== 'live') output(command).note(`it is ${data.status}${data.statusReason ? `: ${data.statusReason}` : ''}`)
    })
}

/** Uses the desktop's opener; without one, the address was printed to the terminal already. */
function openInBrowser(url: string): void {
  if (!/^https?:\/\//.test(url)) return
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open'
  spawn(opener, [url], { stdio: 'ignore', detached: true })
    .on('error', () => undefined)
    .unref()
}
