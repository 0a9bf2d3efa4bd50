import { missingProgramIn } from '../../../drivers/runtime/process/tools/missing-tool.ts'
import type { Instance } from '../../../drivers/runtime/runtime.ts'
import type { Unit } from '../plan/deployed.ts'

const notFound = 127
const notExecutable = 126

/** The reason why an instance exited before it was healthy, and what to do. `name` begins the sentence. */
export function crashText(
  name: string,
  { exitCode, outOfMemory, diskFull, program }: Pick<Instance, 'exitCode' | 'outOfMemory' | 'diskFull' | 'program'>,
  unit: Pick<Unit, 'command' | 'entrypoint' | 'build' | 'exposed' | 'restart'>,
  lines: readonly string[],
): string {
  if (outOfMemory) return `${name} exceeded its memory limit before it was healthy`
  if (diskFull) return `${name} exceeded its disk limit before it was healthy`
  const exitText = `${name} exited with code ${exitCode ?? 'unknown'} before it was healthy`
  if (exitCode === notFound) return `${exitText}: ${missingText(missingProgramIn(lines) ?? programName(unit) ?? program ?? null)}`
  if (exitCode === notExecutable) return `${exitText}: ${deniedText(programName(unit) ?? program ?? null)}`
  return lines.some((line) => line.trim() !== '') ? exitText : `${exitText}, and printed nothing. ${silentAdvice(exitCode)}`
}

const missingText = (program: string | null) =>
  `the command${program ? ` \`${program}\`` : ''} does not exist. Install it in the image, or correct the start command`

const deniedText = (program: string | null) =>
  `the command${program ? ` \`${program}\`` : ''} cannot be executed. Make it executable (chmod +x), and build the image for this machine's architecture`

const silentAdvice = (exitCode: number | null) =>
  exitCode === 0
    ? 'Its command finished. Start a program that keeps running in the foreground'
    : 'Run its start command manually to see the error, or let it log its errors'

/** The program that is started; for a `sh -c` command, the first word of the shell line. */
function programName({ entrypoint, command, build }: Pick<Unit, 'command' | 'entrypoint' | 'build'>): string | null {
  const argv = [...(entrypoint ?? []), ...(command ?? [])]
  const [program, flag, line] = argv
  const isShell = program !== undefined && /(^|\/)(ba|da|a)?sh$/.test(program) && flag === '-c'
  return (isShell ? line?.trim().split(/\s+/)[0] : program) ?? build?.startCommand?.trim().split(/\s+/)[0] ?? null
}
