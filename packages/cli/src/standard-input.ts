import { CliError } from './exit-codes.ts'

/** Reads a secret from a pipe, without the trailing line break. */
export async function readStandardInput(): Promise<string> {
  let content = ''
  for await (const chunk of process.stdin) content += chunk
  const value = content.replace(/\r?\n$/, '')
  if (!value) throw new CliError('Standard input is empty', 2)
  return value
}
