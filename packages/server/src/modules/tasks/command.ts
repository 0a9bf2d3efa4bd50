import { limits } from '@berth/contract'
import { splitWords } from '../../platform/command-line.ts'
import { refuse } from '../../platform/failure.ts'

/** The words of a task's command. Responds 400 for a command that names no program or that no program can receive. */
export function wordsOf(command: string | readonly string[]): string[] {
  const words = typeof command === 'string' ? splitWords(command) : [...command]
  if (!Array.isArray(words)) return refuse('command', `cannot be split into words: ${words.problem}`)
  if (!words[0]?.trim()) return refuse('command', 'names no program')
  if (words.some((word) => word.includes('\0'))) return refuse('command', 'contains a NUL character')
  if (words.join(' ').length > limits.taskCommandCharacters)
    return refuse('command', `has more than ${limits.taskCommandCharacters} characters`)
  return words
}
