import { errorOf } from '@berth/contract/client'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { Plain } from '../exit-codes.ts'
import { output } from '../output.ts'

interface Options {
  data?: string
}

export function addApi(program: Command): void {
  program
    .command('api <method> <path>')
    .description('call an API route, for example: berth api GET /projects')
    .option('-d, --data <json>', 'the body')
    .action(async (method: string, path: string, { data }: Options, command: Command) => {
      const { url, token } = connect(command)
      const answer = await fetch(new URL(`${url}/api/${path.replace(/^\/?(api\/)?/, '')}`), {
        method: method.toUpperCase(),
        headers: { authorization: `Bearer ${token}`, ...(data === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(data === undefined ? {} : { body: checked(data) }),
      })
      if (!answer.ok) throw await errorOf(answer)
      if (answer.headers.get('content-type')?.startsWith('text/event-stream')) return print(answer)
      const body = await answer.text()
      if (body) output(command).result(JSON.parse(body), () => JSON.stringify(JSON.parse(body), null, 2))
    })
}

function checked(data: string): string {
  try {
    JSON.parse(data)
  } catch (error) {
    throw new Plain(`--data is not valid JSON: ${(error as Error).message}`, 2)
  }
  return data
}

async function print(answer: Response): Promise<void> {
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) process.stdout.write(chunk)
}
