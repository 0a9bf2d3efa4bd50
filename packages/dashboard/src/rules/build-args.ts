import type { BuildArgs } from '@berth/contract'

/** Build arguments as lines of `NAME=value`. A value of several lines is written with `\\n`. */
export const buildArgsText = (args: BuildArgs | null | undefined): string =>
  Object.entries(args ?? {})
    .map(([name, value]) => `${name}=${value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`)
    .join('\n')

/** Parses lines of `NAME=value`. `buildArgs` is null without any. */
export function readBuildArgs(text: string): { buildArgs: BuildArgs | null; problems: string[] } {
  const problems: string[] = []
  const args: BuildArgs = {}
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const [, name, value = ''] = /^\s*([A-Za-z_][A-Za-z0-9_]{0,255})=(.*)$/.exec(line) ?? []
    if (name === undefined) problems.push(`${line.trim().slice(0, 40)} is not NAME=value`)
    else if (Object.hasOwn(args, name)) problems.push(`${name} is a duplicate`)
    else args[name] = value.replace(/\\(\\|n)/g, (_, letter: string) => (letter === 'n' ? '\n' : '\\'))
  }
  return { buildArgs: Object.keys(args).length > 0 ? args : null, problems }
}
