/** Lines that a package manager writes around the output of the app: headers, update notices and the exit of its script. */
const managerLines: readonly RegExp[] = [
  /^npm (?:notice|warn|WARN)\b/,
  /^npm (?:error|ERR!)\s*$/,
  /^npm (?:error|ERR!) (?:Lifecycle script|A complete log of this run|Exit status \d|Failed at the |This is probably not a problem with npm)/,
  /^npm (?:error|ERR!) (?:code (?:\d+|ELIFECYCLE)|errno \d+|command failed|signal SIG[A-Z]+)\s*$/,
  /^npm (?:error|ERR!) (?:path|location|workspace|command) \S/,
  /^npm (?:error|ERR!) {4}\S*_logs\S*$/,
  /^error Command failed with (?:exit code \d+|signal "?SIG[A-Z]+"?)\.?$/,
  /^info Visit \S+ for documentation about this command\.$/,
  /^\s?(?:\[?ELIFECYCLE\]?|ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL)\b.{0,300}$/,
  /^\s{0,6}[╭╰│─]/,
  /^error: script "[^"]{1,100}" (?:exited with code \d+|was terminated by signal)/,
]

/** True if the app itself may have written the line. */
export const isFromApp = (line: string): boolean => !managerLines.some((pattern) => pattern.test(line))

/** The last `count` lines of the app; those of the package manager only if there are no others. */
export function lastAppLines(lines: readonly string[], count: number): string[] {
  const own = lines.filter(isFromApp)
  return (own.some((line) => line.trim() !== '') ? own : lines).slice(-count)
}
