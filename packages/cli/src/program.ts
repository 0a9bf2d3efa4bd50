import { Command, CommanderError } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { exitCodeOf, exitCodes, explain, unreachableFirst } from './exit-codes.ts'
import { withOptionName } from './field-options.ts'
import { output } from './output.ts'

/** The program with its global options, without commands. */
export const newProgram = (): Command =>
  new Command('berth')
    .description('Host projects on your machine, on a cluster, or in the cloud')
    .version(manifest.version)
    .option('--json', 'print JSON')
    .option('--url <address>', 'URL of the instance (default: BERTH_URL, or the instance you signed in to)')
    .showHelpAfterError('(add --help to list the options of this command)')
    .addHelpText('after', `\nExit codes:\n${exitCodes.map(({ code, means }) => `  ${code}  ${means}`).join('\n')}`)
    .exitOverride()

/** Runs a command and prints its error. Returns the exit code of a failure; a command that succeeds may set its own. */
export async function runProgram(program: Command, args: readonly string[]): Promise<number | undefined> {
  let running: Command = program
  program.hook('preAction', (_, action) => {
    running = action
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return undefined
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const reported = await unreachableFirst(error)
    output(program).problem(withOptionName(explain(reported), running))
    return exitCodeOf(reported)
  }
}
