/** Messages of package managers about a lockfile that does not match the manifest, with the command that updates it. */
const patterns: readonly [RegExp, string][] = [
  [/`npm ci` can only install packages when your package\.json and .{1,80} are in sync/, 'npm install'],
  [/\bERR_PNPM_(?:OUTDATED_LOCKFILE|LOCKFILE_CONFIG_MISMATCH)\b/, 'pnpm install'],
  [/Your lockfile needs to be updated, but yarn was run with `--frozen-lockfile`/, 'yarn install'],
  [/\bYN0028\b/, 'yarn install'],
  [/lockfile had changes, but lockfile is frozen/, 'bun install'],
]

/** The reason of a failed install, from one line of its output. Every line is checked: npm prints about a hundred lines after it. */
export function lockfileHint(line: string): string | null {
  const updateCommand = patterns.find(([pattern]) => pattern.test(line.slice(0, 1000)))?.[1]
  return updateCommand === undefined
    ? null
    : `the lockfile does not match package.json. Run \`${updateCommand}\` and deploy the lockfile that it writes`
}

export const commandFailedMessage = (command: string, exitCode: number | 'unknown', reason: string | null) =>
  `\`${command}\` ended with exit code ${exitCode}${reason === null ? '' : `: ${reason}`}`
