import { Command, CommanderError } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { addUp } from './commands/up.ts'
import { exitCodeOf, exitCodes, explain } from './exit-codes.ts'
import { inOptions } from './field-options.ts'
import { output } from './output.ts'

const program = new Command('berth')
  .description('Host projects on your machine, on a cluster, or in the cloud')
  .version(manifest.version)
  .option('--json', 'print JSON')
  .option('--url <address>', 'URL of the instance (default: BERTH_URL, or the instance you signed in to)')
  .showHelpAfterError('(add --help to list the options of this command)')
  .addHelpText('after', `\nExit codes:\n${exitCodes.map(({ code, means }) => `  ${code}  ${means}`).join('\n')}`)
  .exitOverride()

addUp(program)
// The service needs none of the others, and would hold them in memory for as long as it runs.
if (process.argv[2] !== 'up') (await import('./commands/commands.ts')).addCommands(program)

// Who reads through `head` has read enough: that is no fault.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })

let running: Command = program
program.hook('preAction', (_, action) => {
  running = action
})

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
  else {
    output(program).problem(inOptions(explain(error), running))
    process.exitCode = exitCodeOf(error)
  }
}
