import { isCancel } from '@clack/prompts'
import { CliError } from './exit-codes.ts'

/** Asks at the terminal; where there is none, `flag` is what to use instead. Null: the person would rather not. */
export async function ask(prompt: () => Promise<string | symbol>, flag: string): Promise<string | null> {
  if (!process.stdin.isTTY) throw new CliError(`Input is required, but standard input is not a terminal. Use ${flag}.`, 2)
  const answer = await prompt()
  return isCancel(answer) ? null : (answer as string)
}

/** The same of what cannot go on without an answer. */
export async function askFor(prompt: () => Promise<string | symbol>, flag: string): Promise<string> {
  const answer = await ask(prompt, flag)
  if (answer === null) throw new CliError('cancelled')
  return answer
}
