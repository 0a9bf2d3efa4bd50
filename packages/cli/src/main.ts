import { addUp } from './commands/up.ts'
import { newProgram, runProgram } from './program.ts'

const program = newProgram()
addUp(program)
// `berth up` runs for a long time and does not need the other commands, so they are not loaded.
if (process.argv[2] !== 'up') (await import('./commands/commands.ts')).addCommands(program)

// A reader such as `head` that closes the pipe early is not an error.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })

process.exitCode = (await runProgram(program, process.argv.slice(2))) ?? process.exitCode
