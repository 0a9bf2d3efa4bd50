import type { PackOptions } from '@berth/server/pack-folder'

/** Files that usually contain secrets of the user's machine. Their templates contain none. */
const envFiles = ['.env', '.env.*']
const templates = ['example', 'sample', 'template', 'dist', 'defaults', 'vault'].map((ending) => `!.env*.${ending}`)

/** Packs .env files only if the user asks for them, with the option or with a line such as `!.env` in an ignore file. */
export function envFileRules(isIncluded: boolean): Pick<PackOptions, 'ignore' | 'ignoreByDefault'> {
  if (isIncluded) return { ignore: envFiles.map((pattern) => `!${pattern}`) }
  return { ignoreByDefault: [...envFiles, ...templates] }
}

const maxNamed = 5

/** The warning names at most five files. */
export function envFileWarning(paths: readonly string[]): string {
  const more = paths.length > maxNamed ? ` and ${paths.length - maxNamed} more` : ''
  return `Not uploaded: ${paths.slice(0, maxNamed).join(', ')}${more}. Set the variables with berth env push, or upload .env files with --include-env-files.`
}
