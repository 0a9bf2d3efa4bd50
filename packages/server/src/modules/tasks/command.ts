import { limits } from '@berth/contract'
import { splitWords } from '../../platform/command-line.ts'
import { refuse } from '../../platform/failure.ts'

/** The program and arguments of a task's command. Responds 400 for a command that names no program or cannot be passed to one. */
export function argvOf(command: string | readonly string[]): string[] {
  const argv = typeof command === 'string' ? splitWords(command) : [...command]
  if (!Array.isArray(argv)) return refuse('command', `cannot be split into words: ${argv.problem}`)
  if (!argv[0]?.trim()) return refuse('command', 'names no program')
  if (argv.some((word) => word.includes('\0'))) return refuse('command', 'contains a NUL character')
  if (argv.join(' ').length > limits.taskCommandCharacters)
    return refuse('command', `has more than ${limits.taskCommandCharacters} characters`)
  return argv
}
