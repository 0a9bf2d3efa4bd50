import type { ExecCommand } from '../../../drivers/runtime/runtime.ts'
import { parseCommandLine } from '../../../platform/command-line.ts'
import { refuse } from '../../../platform/failure.ts'

/** A person's own command, for inside their own service: as words, or where it needs a shell as a script that the shell there reads. */
export function commandInside(text: string): Pick<ExecCommand, 'argv' | 'stdin'> {
  const words = parseCommandLine(text)
  if (Array.isArray(words)) return { argv: words }
  return { argv: ['/bin/sh', '-e'], stdin: script(`${text}\n`) }
}

async function* script(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

export function checkCommand(field: string, text: string): void {
  if (text.trim() === '') refuse(field, 'is empty: null takes it away')
}
