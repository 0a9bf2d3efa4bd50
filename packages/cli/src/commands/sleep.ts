import { contract } from '@berth/contract'
import { Argument, type Command } from 'commander'
import { connect } from '../credentials.ts'
import { output } from '../output.ts'
import { projectIdOf, projectOption } from '../project-link.ts'

export function addSleep(program: Command): void {
  program
    .command('sleep')
    .description('stop the project while it gets no requests, or keep it running')
    .addArgument(new Argument('<when>', 'auto: sleep when idle; never: keep running').choices(['auto', 'never']))
    .option(...projectOption)
    .action(async (when: 'auto' | 'never', _options, command: Command) => {
      const sleepMode = when === 'auto' ? 'auto_sleep' : 'always_on'
      const { data } = await connect(command).call(contract.projects.setSleepMode, {
        params: { id: projectIdOf(command) },
        body: { sleepMode },
      })
      output(command).result(data, () =>
        when === 'auto' ? 'the project sleeps when it gets no requests; the next request wakes it' : 'the project never sleeps',
      )
    })
}
