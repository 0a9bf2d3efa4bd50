import { errors } from '@berth/contract'
import { ApiError, errorOf } from '@berth/contract/client'
import type { Command } from 'commander'
import { type Connection, connect } from '../credentials.ts'
import { CliError } from '../exit-codes.ts'
import { output } from '../output.ts'

interface Options {
  data?: string
}

export function addApi(program: Command): void {
  program
    .command('api <method> <path> [body]')
    .description('call an API route, for example: berth api POST /projects \'{ "name": "shop" }\'')
    .option('-d, --data <json>', 'the body, as an option')
    .action(async (method: string, path: string, argument: string | undefined, { data }: Options, command: Command) => {
      if (argument !== undefined && data !== undefined)
        throw new CliError('The body is given twice. Pass it as an argument or with --data.', 2)
      const body = checkJson(argument ?? data)
      const response = await send(connect(command), method, path, body)
      if (response.headers.get('content-type')?.startsWith('text/event-stream')) return print(response)
      const text = await response.text()
      if (text) output(command).result(JSON.parse(text), () => JSON.stringify(JSON.parse(text), null, 2))
    })
}

async function send(
  { url, token, organizationId, withContext }: Connection,
  method: string,
  path: string,
  body: string | undefined,
): Promise<Response> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(organizationId ? { 'x-organization-id': organizationId } : {}),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const address = new URL(`${url}/api/${path.replace(/^\/?(api\/)?/, '')}`)
  try {
    const response = await fetch(address, { method: method.toUpperCase(), headers, ...(body === undefined ? {} : { body }) })
    if (!response.ok) throw nameAddress(await errorOf(response), method, address)
    return response
  } catch (error) {
    throw withContext(error)
  }
}

/** Adds the request to the plain "Not found". */
function nameAddress(error: unknown, method: string, { pathname }: URL): unknown {
  if (error instanceof ApiError && error.message === errors.not_found[1])
    error.message = `Not found: ${method.toUpperCase()} ${pathname}`
  return error
}

function checkJson(body: string | undefined): string | undefined {
  try {
    if (body !== undefined) JSON.parse(body)
  } catch (error) {
    throw new CliError(`The body is not valid JSON: ${(error as Error).message}`, 2)
  }
  return body
}

async function print(response: Response): Promise<void> {
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) process.stdout.write(chunk)
}
