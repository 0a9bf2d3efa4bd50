import { confirm, isCancel, text } from '@clack/prompts'
import type { Command } from 'commander'
import { CliError } from './exit-codes.ts'

/** True if the command may prompt: not with JSON output, and not behind a pipe. */
export const isAtTerminal = (command: Command): boolean =>
  process.stdin.isTTY === true && process.stderr.isTTY === true && command.optsWithGlobals().json !== true

/** Prompts as properties, so that a test can answer them. */
export const prompts = { confirm, text }

/** Prompts at the terminal. Without a terminal it throws an error that names `flag`. Null: the user cancelled. */
export async function ask(prompt: () => Promise<string | symbol>, flag: string): Promise<string | null> {
  if (!process.stdin.isTTY) throw new CliError(`Input is required, but standard input is not a terminal. Use ${flag}.`, 2)
  const answer = await prompt()
  return isCancel(answer) ? null : (answer as string)
}

/** Prompts like `ask`, but throws if the user cancels. */
export async function askFor(prompt: () => Promise<string | symbol>, flag: string): Promise<string> {
  const answer = await ask(prompt, flag)
  if (answer === null) throw new CliError('Cancelled.')
  return answer
}
