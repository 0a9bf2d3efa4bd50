import { parseCommandLine } from '../../../../platform/command-line.ts'

/** Splits a user's command into arguments. A command that needs a shell runs with `/bin/sh -c`, where the project runs. */
export function argvOfCommand(command: string): string[] {
  const words = parseCommandLine(command)
  return Array.isArray(words) ? words : ['/bin/sh', '-c', command]
}
