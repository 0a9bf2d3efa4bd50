import { ReadableStream } from 'node:stream/web'
import { contract, type ExecExit } from '@berth/contract'
import type { Command } from 'commander'
import { type Connection, connect } from '../credentials.ts'
import { CliError } from '../exit-codes.ts'
import { plainText } from '../plain-text.ts'
import { projectIdOf, projectOption } from '../project-link.ts'

interface Options {
  environment?: string
  service?: string
  env?: string[]
  interactive?: boolean
}

export function addRun(program: Command): void {
  program
    .command('run <command...>')
    .alias('exec')
    .description('run a command in the live deployment: berth run -- npm run migrate. Exits with the exit code of the command')
    .option(...projectOption)
    .option('--environment <slug>', 'environment (default: production)')
    .option('--service <name>', 'service to run in (default: the one that receives requests)')
    .option('-e, --env <NAME=value...>', 'set an additional environment variable')
    .option('-i, --interactive', 'forward keyboard input; piped input is always forwarded')
    .action(async (argv: string[], options: Options, command: Command) => {
      const client = connect(command)
      const id = projectIdOf(command)
      const interrupted = new AbortController()
      process.once('SIGINT', () => interrupted.abort()).once('SIGTERM', () => interrupted.abort())
      const hasInput = options.interactive === true || process.stdin.isTTY !== true
      try {
        process.exitCode = codeOf(await runCommand(client, id, { ...bodyOf(argv, options), input: hasInput }, interrupted.signal))
      } catch (error) {
        if (!interrupted.signal.aborted) throw error
        process.exitCode = 130
      }
      // Standard input may never end, and is no longer read.
      process.stdin.destroy()
    })
}

function bodyOf(argv: string[], { environment, service, env }: Options) {
  const pairs = env?.map((pair): [string, string] => {
    const at = pair.indexOf('=')
    if (at < 1) throw new CliError(`--env ${pair} has no value. Write NAME=value.`, 2)
    return [pair.slice(0, at), pair.slice(at + 1)]
  })
  return {
    argv,
    ...(environment ? { environment } : {}),
    ...(service ? { service } : {}),
    ...(pairs ? { env: Object.fromEntries(pairs) } : {}),
  }
}

type Body = ReturnType<typeof bodyOf> & { input: boolean }

/** Copies the program's output unchanged until it ends. */
async function runCommand(client: Connection, id: string, body: Body, abort: AbortSignal): Promise<ExecExit> {
  let sendingInput: Promise<unknown> | undefined
  for await (const { event, data } of client.stream(contract.deployments.exec, { params: { id }, body, abort })) {
    if (event === 'started' && body.input) sendingInput = sendInput(client, { id, execId: data.execId }, abort)
    if (event === 'output')
      await write(data.stream === 'stdout' ? process.stdout : process.stderr, Buffer.from(data.data, 'base64'))
    if (event === 'exit') return data
    if ((event as string) === 'closed') throw new CliError((data as unknown as { error: string }).error)
  }
  await sendingInput
  throw new CliError('The connection was lost, and the command was stopped')
}

/**
 * Sends standard input. Errors are ignored: the stream reports how the program ended, and the program need not read all of its
 * input.
 */
function sendInput(client: Connection, params: { id: string; execId: string }, abort: AbortSignal): Promise<unknown> {
  const upload = ReadableStream.from(process.stdin) as unknown as BodyInit
  return client.call(contract.deployments.execInput, { params, upload, abort }).catch(() => undefined)
}

const write = (stream: NodeJS.WriteStream, bytes: Buffer) =>
  new Promise<void>((resolve) => {
    if (stream.write(bytes)) resolve()
    else stream.once('drain', resolve)
  })

function codeOf({ exitCode, message }: ExecExit): number {
  if (message) process.stderr.write(`error: ${plainText(message, process.stderr)}\n`)
  return exitCode ?? 1
}
