/** Where a service's variables are in its container. Swarm keeps secrets in memory there. */
const folder = '/run/secrets'
const fileName = (at: number) => `berth.env.${at}`
/** Swarm refuses a secret above 500 KB. */
const maxFileBytes = 400_000
const wrapperName = 'berth'
const shell = '/bin/sh'
/** Variables that a shell sets itself or refuses to change. */
const shellVariables = new Set([
  ...['UID', 'EUID', 'PPID', 'GROUPS', 'BASHOPTS', 'SHELLOPTS', 'BASH_VERSINFO', 'BASH_VERSION', 'OPTIND', 'OPTARG'],
  ...['LINENO', 'FUNCNAME', 'DIRSTACK', 'RANDOM', 'SECONDS', 'IFS', 'PS4', 'ENV', 'BASH_ENV', '_'],
])

export const isSecretPossible = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !shellVariables.has(name)

export const isVariableFile = (path: string): boolean => path.startsWith(`${folder}/berth.env.`)

export interface SecretText {
  path: string
  content: string
}

/** Files that export variables, byte for byte, for a shell to read. */
export function variableFiles(variables: Readonly<Record<string, string>>): SecretText[] {
  const files: string[] = []
  for (const [name, value] of Object.entries(variables)) {
    const line = `export ${name}=${quoted(value)}\n`
    const last = files.at(-1)
    if (last === undefined || Buffer.byteLength(last) + Buffer.byteLength(line) > maxFileBytes) files.push(line)
    else files[files.length - 1] = last + line
  }
  return files.map((content, at) => ({ path: `${folder}/${fileName(at)}`, content }))
}

const quoted = (value: string) => `'${value.replaceAll("'", "'\\''")}'`

const readFiles = (files: number) => Array.from({ length: files }, (_, at) => `. ${folder}/${fileName(at)}`)

/** The command line that reads the files and then becomes the program. */
export const withVariables = (argv: readonly string[], files: number): string[] =>
  files === 0 ? [...argv] : [shell, '-c', [...readFiles(files), 'exec "$@"'].join(' && '), wrapperName, ...argv]

/** The command line without `withVariables`. */
export const withoutVariables = (argv: readonly string[]): string[] =>
  argv[0] === shell && argv[3] === wrapperName && argv[2]?.startsWith(`. ${folder}/`) ? argv.slice(4) : [...argv]

/**
 * A command with variables of its own, which take precedence over those in the files. Their values are passed in the environment
 * under other names, so that they are in no command line.
 */
export function commandWithVariables(
  { argv, env = {} }: { argv: readonly string[]; env?: Readonly<Record<string, string>> },
  files: number,
): { argv: string[]; env: Record<string, string> } {
  if (files === 0) return { argv: [...argv], env: { ...env } }
  const names = Object.keys(env)
  const own = names.filter(isSecretPossible)
  const passed = Object.fromEntries(own.map((name, at) => [`BERTH_EXEC_${at}`, env[name] ?? '']))
  const kept = Object.fromEntries(names.filter((name) => !own.includes(name)).map((name) => [name, env[name] ?? '']))
  const exports = own.map((name, at) => `export ${name}="$BERTH_EXEC_${at}" && unset BERTH_EXEC_${at}`)
  const script = [...readFiles(files), ...exports, 'exec "$@"'].join(' && ')
  return { argv: [shell, '-c', script, wrapperName, ...argv], env: { ...kept, ...passed } }
}
