import type { RunCommand, RunOptions } from '../../../shell/command.ts'
import { createRunCommand } from '../../../shell/run-command.ts'
import type { Launched } from '../sandbox/sandbox.ts'

/** Inherits no variables: a privileged stage gets only the environment that the sandbox sets. */
const run: RunCommand = createRunCommand({})

export const runLaunched = ({ program, args, env, cwd, handover }: Launched, options: Omit<RunOptions, 'secretInput'>) =>
  run({ program, args, env, cwd }, { ...options, secretInput: handover })
