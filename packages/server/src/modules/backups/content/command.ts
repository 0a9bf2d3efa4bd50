import type { ExecCommand } from '../../../drivers/runtime/runtime.ts'
import { parseCommandLine } from '../../../platform/command-line.ts'
import { refuse } from '../../../platform/failure.ts'

/**
 * A user's own command, run inside the user's own service: as an argument list, or, where it needs a shell, as a script for the
 * service's shell.
 */
export function commandInside(text: string): Pick<ExecCommand, 'argv' | 'stdin'> {
  const argv = parseCommandLine(text)
  if (Array.isArray(argv)) return { argv }
  return { argv: ['/bin/sh', '-e'], stdin: script(`${text}\n`) }
}

async function* script(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

export function checkCommand(field: string, text: string): void {
  if (text.trim() === '') refuse(field, 'is empty. Send null to remove it.')
}
