import { existsSync, lstatSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { Plain } from '../../exit-codes.ts'

interface Variable {
  key: string
  value: string
  isSecret: boolean
}

/** The lines of a `.env` file, as Node reads them. */
export function readEnvFile(file: string): { key: string; value: string }[] {
  if (!existsSync(file)) throw new Plain(`File ${file} does not exist`, 2)
  const pairs = Object.entries(parseEnv(readFileSync(file, 'utf8'))).map(([key, value]) => ({ key, value: value ?? '' }))
  if (pairs.length === 0) throw new Plain(`${file} contains no variables. Write one KEY=value per line.`, 2)
  return pairs
}

/**
 * Only its owner may read it; a secret's value is known to nobody here, so its line is a remark. It takes the place of what is there,
 * also of a link: a link of a stranger's folder leads to any file, perhaps to one that is not there yet.
 */
export function writeEnvFile(file: string, variables: readonly Variable[], force: boolean): void {
  const isThere = lstatSync(file, { throwIfNoEntry: false }) !== undefined
  if (isThere && !force) throw new Plain(`${file} already exists. Use --force to overwrite it.`, 6)
  const lines = variables.map(({ key, value, isSecret }) => (isSecret ? `# ${key}= (secret)` : `${key}=${quoted(value)}`))
  const text = `${lines.join('\n')}\n`
  const there = statSync(file, { throwIfNoEntry: false })
  // `/dev/stdout` and the like are not for us to replace.
  if (there && !there.isFile()) {
    writeFileSync(file, text)
    return
  }
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx' })
  renameSync(draft, file)
}

/** In the quotes that give back what is inside. Where no kind does, the file could not hold it. */
function quoted(value: string): string {
  if (/^[\w./:@%+,-]*$/.test(value)) return value
  const quote = ["'", '"', '`'].find((one) => !value.includes(one) && !(one === '"' && /\\n/.test(value)))
  if (!quote) throw new Plain('A value contains all three kinds of quotes and cannot be written to a .env file', 1)
  return quote + value + quote
}
