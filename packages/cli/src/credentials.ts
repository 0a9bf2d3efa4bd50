import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@berth/contract/client'
import type { Command } from 'commander'
import { environment } from './environment.ts'
import { addContext, withErrorContext } from './error-context.ts'
import { CliError, NotSignedIn } from './exit-codes.ts'
import { output } from './output.ts'
import { findLink } from './project-link.ts'

/** The instance that was signed in to last, and a token for each instance; readable by its owner only. */
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
    throw new CliError(`${file()} cannot be read: ${(error as Error).message}`)
  }
}

export function saveToken(url: string, token: string): string {
  return write({ current: url, tokens: { ...read().tokens, [url]: token } })
}

/** Removes and returns the stored token of the instance; `null` if there was none. */
export function removeToken(url: string): string | null {
  const { current, tokens } = read()
  const { [url]: token, ...others } = tokens
  if (token) write({ current: current === url ? null : current, tokens: others })
  return token ?? null
}

function write(credentials: Credentials): string {
  mkdirSync(environment.configFolder(), { recursive: true, mode: 0o700 })
  const temporaryFile = `${file()}.${process.pid}`
  writeFileSync(temporaryFile, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 })
  renameSync(temporaryFile, file())
  return file()
}

/**
 * The argument `named` or `--url`, then BERTH_URL, then the instance of the folder's project, then the last one signed in to, then
 * that of `berth up`.
 */
export function instanceUrl(command: Command, folder = '.', named?: string): string {
  const { url } = command.optsWithGlobals() as { url?: string }
  const address = named ?? url ?? environment.url() ?? linkedUrl(command, folder) ?? read().current ?? defaultUrl
  if (!URL.canParse(address)) throw new CliError(`${address} is not a URL. Write it like ${defaultUrl}.`, 2)
  return new URL(address).origin
}

const linkedUrl = (command: Command, folder: string): string | undefined =>
  command.optsWithGlobals().project ? undefined : findLink(folder)?.url

/** An API client with the caller's token. */
export function connect(command: Command, folder = '.') {
  const url = instanceUrl(command, folder)
  const isNamed = Boolean(command.optsWithGlobals().url ?? environment.url())
  const isFromLink = !isNamed && linkedUrl(command, folder) !== undefined
  const environmentToken = tokenFromEnvironment(url, isNamed)
  const token = environmentToken ?? read().tokens[url]
  if (!token) throw new NotSignedIn(url, isFromLink)
  const organizationId = environment.organizationId()
  const onWarnings = (warnings: readonly string[]) => {
    for (const warning of warnings) output(command).warning(warning)
  }
  const context = {
    ...{ url, isFromLink },
    ...(environmentToken ? variableContext : { tokenSource: file(), tokenRemedy: 'Sign in again with: berth login' }),
  }
  const client = createClient({ baseUrl: url, token, onWarnings, ...(organizationId ? { organizationId } : {}) })
  return {
    url,
    token,
    organizationId,
    ...withErrorContext(client, context),
    /** Adds the context of `call` to the error of a request that was made without `call`. */
    withContext: (error: unknown) => addContext(error, context),
  }
}

const variableContext = {
  tokenSource: 'the variable BERTH_TOKEN',
  tokenRemedy: 'Set it to a valid token, or unset it to use the token of berth login.',
}

/**
 * BERTH_TOKEN is sent only to an instance that the user named or signed in to: the link file of an untrusted folder may name any
 * URL.
 */
function tokenFromEnvironment(url: string, isNamed: boolean): string | null {
  const token = environment.token()
  if (token === null) return null
  const { current, tokens } = read()
  if (isNamed || url === (current ?? defaultUrl) || Object.hasOwn(tokens, url)) return token
  throw new CliError(
    `BERTH_TOKEN was not sent: ${url} comes from this folder's .berth/project.json only. Set BERTH_URL or --url to confirm it.`,
    3,
  )
}

export type Connection = ReturnType<typeof connect>
