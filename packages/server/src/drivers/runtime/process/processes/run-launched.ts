import type { RunCommand, RunOptions } from '../../../shell/command.ts'
import { createRunCommand } from '../../../shell/run-command.ts'
import type { Launched } from '../sandbox/sandbox.ts'

/** Nothing is inherited: what a stage with rights finds in its environment is what the sandbox says. */
const run: RunCommand = createRunCommand({})

export const runLaunched = ({ program, args, env, cwd, handover }: Launched, options: Omit<RunOptions, 'secretInput'>) =>
  run({ program, args, env, cwd }, { ...options, secretInput: handover })
