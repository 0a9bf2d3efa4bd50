import { parseCommandLine } from '../../../../platform/command-line.ts'

/** A user's command as words; what only a shell can do runs in a shell of the project's own, never with our data in it. */
export function wordsOf(command: string): string[] {
  const words = parseCommandLine(command)
  return Array.isArray(words) ? words : ['/bin/sh', '-c', command]
}
