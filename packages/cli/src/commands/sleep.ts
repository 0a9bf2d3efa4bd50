import { contract } from '@berth/contract'
import { Argument, type Command } from 'commander'
import { connect } from '../credentials.ts'
import { output } from '../output.ts'
import { projectIdOf, projectOption } from '../project-link.ts'

export function addSleep(program: Command): void {
  program
    .command('sleep')
    .description('let the project sleep while nobody asks for it, or never')
    .addArgument(new Argument('<when>', 'auto: after a while without requests; never').choices(['auto', 'never']))
    .option(...projectOption)
    .action(async (when: 'auto' | 'never', _options, command: Command) => {
      const sleepMode = when === 'auto' ? 'auto_sleep' : 'always_on'
      const { data } = await connect(command).call(contract.projects.setSleepMode, {
        params: { id: projectIdOf(command) },
        body: { sleepMode },
      })
      output(command).result(data, () =>
        when === 'auto' ? 'it sleeps after a while without requests; the next one wakes it' : 'it never sleeps',
      )
    })
}
