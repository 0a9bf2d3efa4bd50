import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { projectIdOf } from '../project-link.ts'

interface Options {
  follow?: boolean
  tail: string
  service?: string
  search?: string
}

interface Line {
  time: string
  stream: string
  service: string | null
  message: string
}

export function addLogs(program: Command): void {
  program
    .command('logs')
    .description('what the project wrote')
    .option('--project <id>', 'which project (default: the one this folder is linked to)')
    .option('-f, --follow', 'go on as more comes')
    .option('-n, --tail <lines>', 'how many lines from the end', '200')
    .option('--service <name>', 'of one service')
    .option('--search <text>', 'only lines that hold this')
    .action(async ({ follow, tail, service, search }: Options, command: Command) => {
      const client = connect(command)
      const input = {
        params: { id: projectIdOf(command) },
        query: { tail: Number(tail), ...(service ? { service } : {}), ...(search ? { q: search } : {}) },
      }
      const json = command.optsWithGlobals().json === true
      const print = (line: Line) => process.stdout.write(`${json ? JSON.stringify(line) : textOf(line)}\n`)
      if (!follow) {
        const { data } = await client.call(contract.projects.logs, input)
        for (const line of data) print(line)
        return
      }
      for await (const { event, data } of client.stream(contract.projects.streamLogs, input))
        if (event === 'log') print(data as Line)
    })
}

const textOf = ({ time, service, message }: Line) => `${time.slice(11, 19)} ${service ? `${service} | ` : ''}${message}`
