import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@berth/contract/client'
import type { Command } from 'commander'
import { environment } from './environment.ts'
import { Plain } from './exit-codes.ts'

/** Which instance was signed in to last, and a token for each; readable by its owner only. */
interface Credentials {
  current: string | null
  tokens: Record<string, string>
}

const defaultUrl = 'http://127.0.0.1:4000'
const file = () => join(environment.configFolder(), 'credentials.json')

function read(): Credentials {
  try {
    return JSON.parse(readFileSync(file(), 'utf8')) as Credentials
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: null, tokens: {} }
    throw new Plain(`${file()} cannot be read: ${(error as Error).message}`)
  }
}

export function saveToken(url: string, token: string): string {
  const credentials = read()
  const changed: Credentials = { current: url, tokens: { ...credentials.tokens, [url]: token } }
  mkdirSync(environment.configFolder(), { recursive: true, mode: 0o700 })
  const draft = `${file()}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(changed, null, 2)}\n`, { mode: 0o600 })
  renameSync(draft, file())
  return file()
}

/** `--url`, then BERTH_URL, then the instance that was signed in to last, then the default of `berth up`. */
export function instanceUrl(command: Command): string {
  const given = (command.optsWithGlobals().url as string | undefined) ?? environment.url() ?? read().current ?? defaultUrl
  if (!URL.canParse(given)) throw new Plain(`${given} is not an address such as ${defaultUrl}`, 2)
  return new URL(given).origin
}

/** A client of the API with the caller's token. */
export function connect(command: Command) {
  const url = instanceUrl(command)
  const token = environment.token() ?? read().tokens[url]
  if (!token) throw new Plain(`You are not signed in to ${url}: run berth login, or set BERTH_TOKEN`, 3)
  const organizationId = environment.organizationId()
  return { url, token, ...createClient({ baseUrl: url, token, ...(organizationId ? { organizationId } : {}) }) }
}
