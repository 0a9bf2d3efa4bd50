import { hostname } from 'node:os'
import { contract } from '@berth/contract'
import { ApiError, createClient, errorOf } from '@berth/contract/client'
import { password as askPassword, text as askText } from '@clack/prompts'
import type { Command } from 'commander'
import { instanceUrl, saveToken } from '../credentials.ts'
import { CliError } from '../exit-codes.ts'
import { output } from '../output.ts'
import { askFor } from '../prompt.ts'
import { readStandardInput } from '../standard-input.ts'

interface Options {
  setup?: string
  organization: string
  email?: string
  tokenStdin?: boolean
  passwordStdin?: boolean
  code?: string
}

export function addLogin(program: Command): void {
  program
    .command('login')
    .argument('[url]', 'URL of the instance, or the set-up link of a new one (default: as for all commands)')
    .description('sign in: creates a personal access token for this machine and saves it')
    .option('--setup <link>', 'one-time set-up link of a new instance: creates you as its owner first')
    .option('--organization <name>', 'with --setup: name of your organisation', 'Home')
    .option('--email <address>', 'your e-mail address')
    .option('--password-stdin', 'read the password from standard input')
    .option('--code <code>', 'with two-factor authentication: a code of your authenticator app, or a recovery code')
    .option('--token-stdin', 'read an existing token from standard input')
    .action(async (address: string | undefined, { setup = linkOf(address), ...others }: Options, command: Command) => {
      const options = { ...others, ...(setup ? { setup } : {}) }
      const url = setup ? setupOf(setup).url : instanceUrl(command, '.', address)
      const token = options.tokenStdin ? await readStandardInput() : await tokenBySigningIn(url, options)
      const { data } = await createClient({ baseUrl: url, token }).call(contract.access.session, {})
      const file = saveToken(url, token)
      output(command).result({ url, email: data.user.email, organization: data.organization.name, file }, () =>
        [`signed in to ${url} as ${data.user.email} (${data.role} of ${data.organization.name})`, `the token is in ${file}`].join(
          '\n',
        ),
      )
    })
}

async function tokenBySigningIn(url: string, options: Options): Promise<string> {
  // An unreachable instance is reported before the user has typed anything.
  if (!options.email || !options.passwordStdin) await createClient({ baseUrl: url }).call(contract.instance.health, {})
  const email = options.email ?? (await askFor(() => askText({ message: `E-mail address at ${url}` }), '--email'))
  const password = options.passwordStdin
    ? await readStandardInput()
    : await askFor(() => askPassword({ message: 'Password' }), '--password-stdin')
  const cookie = options.setup
    ? await openSession(url, 'setup', { code: setupOf(options.setup).code, email, password, organization: options.organization })
    : await openSessionWithCode(url, { email, password, ...(options.code ? { code: options.code } : {}) })
  const client = createClient({ baseUrl: url, headers: { cookie, origin: url } })
  try {
    const { data } = await client.call(contract.access.createToken, { body: { name: `berth login on ${hostname()}` } })
    return data.token
  } finally {
    await client.call(contract.access.logout, {})
  }
}

/** The argument, if it is a set-up link. */
const linkOf = (address: string | undefined): string | undefined =>
  address && URL.canParse(address) && new URL(address).pathname === '/setup' ? address : undefined

/** Parses the set-up link that `berth up` prints on its first start. */
function setupOf(link: string): { url: string; code: string } {
  const url = URL.canParse(link) ? new URL(link) : null
  const code = url?.searchParams.get('code')
  if (!url || !code) throw new CliError(`${link} is not a set-up link. berth up prints it when it starts.`, 2)
  return { url: url.origin, code }
}

/** Signs in, and prompts for the code of the second factor if the server requires one. */
async function openSessionWithCode(url: string, body: { email: string; password: string; code?: string }): Promise<string> {
  try {
    return await openSession(url, 'login', body)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'second_factor_required') throw error
    const message = 'Code of your authenticator app, or a recovery code'
    return openSession(url, 'login', { ...body, code: await askFor(() => askText({ message }), '--code') })
  }
}

/** Uses fetch, because the session is in the response's cookie, which the typed client does not expose. */
async function openSession(url: string, route: 'login' | 'setup', body: object): Promise<string> {
  const response = await fetch(`${url}/api/auth/${route}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw await errorOf(response)
  const cookie = response.headers.getSetCookie()[0]?.split(';')[0]
  if (!cookie) throw new CliError(`${url} is not a Berth instance`)
  return cookie
}
