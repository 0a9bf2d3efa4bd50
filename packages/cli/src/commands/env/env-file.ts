import { existsSync, lstatSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { CliError } from '../../exit-codes.ts'

interface Variable {
  key: string
  value: string
  isSecret: boolean
}

/** The variables of a `.env` file, as Node parses them. */
export function readEnvFile(file: string): { key: string; value: string }[] {
  if (!existsSync(file)) throw new CliError(`File ${file} does not exist`, 2)
  const pairs = Object.entries(parseEnv(readFileSync(file, 'utf8').replace(/^[ \t]*export[ \t]+/gm, ''))).map(([key, value]) => ({
    key,
    value: value ?? '',
  }))
  if (pairs.length === 0) throw new CliError(`${file} contains no variables. Write one KEY=value per line.`, 2)
  return pairs
}

/**
 * Writes a file that only its owner may read. The CLI does not know the values of secrets, so it writes them as comments. The file
 * is replaced, even if it is a symlink: in an untrusted folder a symlink may point to any file, including one that does not exist
 * yet.
 */
export function writeEnvFile(file: string, variables: readonly Variable[], force: boolean): void {
  const exists = lstatSync(file, { throwIfNoEntry: false }) !== undefined
  if (exists && !force) throw new CliError(`${file} already exists. Use --force to overwrite it.`, 6)
  const lines = variables.map(({ key, value, isSecret }) => (isSecret ? `# ${key}= (secret)` : `${key}=${quote(value)}`))
  const text = `${lines.join('\n')}\n`
  const existing = statSync(file, { throwIfNoEntry: false })
  // Special files such as `/dev/stdout` must not be replaced.
  if (existing && !existing.isFile()) {
    writeFileSync(file, text)
    return
  }
  const temporaryFile = `${file}.${process.pid}`
  writeFileSync(temporaryFile, text, { mode: 0o600, flag: 'wx' })
  renameSync(temporaryFile, file)
}

/** Quotes the value with a kind of quote that it does not contain; throws if it contains all of them. */
function quote(value: string): string {
  if (/^[\w./:@%+,-]*$/.test(value)) return value
  const quoteMark = ["'", '"', '`'].find((one) => !value.includes(one) && !(one === '"' && /\\n/.test(value)))
  if (!quoteMark) throw new CliError('A value contains all three kinds of quotes and cannot be written to a .env file', 1)
  return quoteMark + value + quoteMark
}
