import type { CommandResult } from './command.ts'

const lastLineCount = 20

/** The command ran and ended with a code that was not accepted, or by a signal. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
  readonly program: string
  readonly result: CommandResult
  /** The last lines of stderr, or of stdout where stderr is empty. */
  readonly lastLines: string

  constructor(program: string, result: CommandResult, stdoutEnd: string) {
    const lines = lastLinesOf(result.stderr) || lastLinesOf(stdoutEnd)
    const ending = result.signal ? `was ended by ${result.signal}` : `ended with exit code ${result.exitCode}`
    super(lines ? `${program} ${ending}: ${lines}` : `${program} ${ending}`)
    this.program = program
    this.result = result
    this.lastLines = lines
  }

  get exitCode(): number | null {
    return this.result.exitCode
  }
}

export class CommandTimedOut extends Error {
  override readonly name = 'CommandTimedOut'
  readonly program: string
  readonly timeoutMs: number
  readonly lastLines: string

  constructor(program: string, timeoutMs: number, output: string) {
    const lines = lastLinesOf(output)
    super(`${program} was stopped after ${Math.round(timeoutMs / 100) / 10} seconds${lines ? `: ${lines}` : ''}`)
    this.program = program
    this.timeoutMs = timeoutMs
    this.lastLines = lines
  }
}

/** The caller's abort signal ended the command; its reason is the cause. */
export class CommandAborted extends Error {
  override readonly name = 'AbortError'

  constructor(program: string, abort: AbortSignal) {
    super(`${program} was stopped before it finished`, { cause: abort.reason })
  }
}

export class ProgramMissing extends Error {
  override readonly name = 'ProgramMissing'
  readonly program: string

  constructor(program: string) {
    const packageName = packagesByProgram[program] ?? program
    super(`${program} is not installed on this machine: install ${packageName} with the system's package manager, then try again`)
    this.program = program
  }
}

/** The system refused to start the command: missing working folder, not executable, too many processes, arguments too long. */
export class CommandNotStarted extends Error {
  override readonly name = 'CommandNotStarted'
  readonly program: string

  constructor(program: string, reason: string, cause?: unknown) {
    super(`${program} could not be started: ${reason}`, { cause })
    this.program = program
  }
}

/** Packages whose name differs from the program's (Debian's names; others are similar). */
const packagesByProgram: Record<string, string | undefined> = {
  ssh: 'openssh-client',
  sshd: 'openssh-server',
  'ssh-keygen': 'openssh-client',
  docker: 'docker.io (or Docker Engine)',
  npm: 'Node.js',
  npx: 'Node.js',
  node: 'Node.js',
  pg_dump: 'postgresql-client',
  pg_restore: 'postgresql-client',
  psql: 'postgresql-client',
  mysqldump: 'mariadb-client',
  'mariadb-dump': 'mariadb-client',
  'redis-cli': 'redis-tools',
  bwrap: 'bubblewrap',
}

/** Progress meters redraw a line with carriage returns; only the last redraw counts as a line. */
function lastLinesOf(output: string): string {
  const lines = output.split('\n').map((line) => line.trimEnd().split('\r').at(-1) ?? '')
  return lines
    .filter((line) => line.trim() !== '')
    .slice(-lastLineCount)
    .join('\n')
}
