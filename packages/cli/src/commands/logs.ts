import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { type Connection, connect } from '../credentials.ts'
import { Plain } from '../exit-codes.ts'
import { findDeployment } from '../find-deployment.ts'
import { plainText } from '../plain-text.ts'
import { projectIdOf, projectOption } from '../project-link.ts'

interface Options {
  follow?: boolean
  tail: string
  service?: string
  environment?: string
  search?: string
  since?: string
  deployment?: string
  build?: boolean
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
    .option(...projectOption)
    .option('-f, --follow', 'stream new lines')
    .option('-n, --tail <lines>', 'how many lines from the end', '200')
    .option('--service <name>', 'of one service')
    .option('--environment <name>', 'of one environment, by its slug or id (default: all)')
    .option('--search <text>', 'only lines containing this text')
    .option('--since <time>', 'from this time on: 2026-01-31T08:00:00Z, or how long ago: 15m, 2h, 1d')
    .option('--deployment <number>', 'of one deployment, by its number or id')
    .option('--build', 'what the build wrote instead (default: of the newest deployment)')
    .action(async (options: Options, command: Command) => {
      const client = connect(command)
      const json = command.optsWithGlobals().json === true
      const print = (line: Line) => process.stdout.write(`${json ? JSON.stringify(line) : textOf(line)}\n`)
      if (options.build) return printBuildLog(client, command, options, print)
      const input = { params: { id: projectIdOf(command) }, query: await queryOf(client, command, options) }
      if (!options.follow) {
        const { data } = await client.call(contract.projects.logs, input)
        for (const line of data) print(line)
        return
      }
      for await (const { event, data } of client.stream(contract.projects.streamLogs, input))
        if (event === 'log') print(data as Line)
    })
}

async function queryOf(client: Connection, command: Command, { tail, service, environment, search, since, deployment }: Options) {
  if (service) await refuseUnknownService(client, command, service)
  return {
    tail: Number(tail),
    ...(service ? { service } : {}),
    ...(environment ? { environment } : {}),
    ...(search ? { q: search } : {}),
    ...(since ? { since: timeOf(since) } : {}),
    ...(deployment ? { deployment: (await findDeployment(client, command, deployment)).id } : {}),
  }
}

/** A service that is not there has written nothing; the name is more likely mistyped. */
async function refuseUnknownService(client: Connection, command: Command, service: string): Promise<void> {
  const params = { id: projectIdOf(command) }
  const { data: project } = await client.call(contract.projects.get, { params })
  const names = project.config.services.map(({ name }) => name)
  if (names.includes(service)) return
  if (names.length > 0) throw new Plain(`There is no service ${service}: the project has ${names.join(', ')}`, 5)
  // Those of a Compose file are in no setting: what is one program is known by lines that are of no service.
  const { data: lines } = await client.call(contract.projects.logs, { params, query: { tail: 1 } })
  if (lines[0]?.service === null)
    throw new Plain(`There is no service ${service}: the project is one program, leave --service out`, 5)
}

async function printBuildLog(client: Connection, command: Command, { deployment }: Options, print: (line: Line) => void) {
  const { id } = await findDeployment(client, command, deployment)
  const { data } = await client.call(contract.deployments.logs, { params: { id } })
  for (const line of data) print({ service: null, ...line })
}

const units: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function timeOf(since: string): string {
  const ago = /^(\d{1,6})([smhd])$/.exec(since)
  const time = ago ? Date.now() - Number(ago[1]) * units[ago[2]!]! : Date.parse(since)
  if (Number.isNaN(time)) throw new Plain(`--since ${since} is no time: use 2026-01-31T08:00:00Z, 15m, 2h or 1d`, 2)
  return new Date(time).toISOString()
}

const textOf = ({ time, service, message }: Line) =>
  `${time.slice(11, 19)} ${service ? `${service} | ` : ''}${plainText(message, process.stdout)}`
