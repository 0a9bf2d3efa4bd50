import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { type Connection, connect } from '../credentials.ts'
import { CliError } from '../exit-codes.ts'
import { findDeployment } from '../find-deployment.ts'
import { output } from '../output.ts'
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
    .description('show the logs of the project')
    .option(...projectOption)
    .option('-f, --follow', 'stream new lines')
    .option('-n, --tail <lines>', 'number of lines from the end', '200')
    .option('--service <name>', 'only this service')
    .option('--environment <name>', 'only this environment, by slug or id (default: all)')
    .option('--search <text>', 'only lines containing this text')
    .option('--since <time>', 'only lines since this time (2026-01-31T08:00:00Z) or age (15m, 2h, 1d)')
    .option('--deployment <number>', 'only this deployment, by number or id')
    .option('--build', 'show the build log instead (default: of the newest deployment)')
    .action(async (options: Options, command: Command) => {
      const client = connect(command)
      const json = command.optsWithGlobals().json === true
      const print = (line: Line) => process.stdout.write(`${json ? JSON.stringify(line) : textOf(line)}\n`)
      if (options.build) return printBuildLog(client, command, options, print)
      const input = { params: { id: projectIdOf(command) }, query: await queryOf(client, command, options) }
      if (!options.follow) {
        const { data } = await client.call(contract.projects.logs, input)
        for (const line of data) print(line)
        if (data.length === 0) output(command).note(await emptyLogNote(client, command))
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

async function emptyLogNote(client: Connection, command: Command): Promise<string> {
  const { data: project } = await client.call(contract.projects.get, { params: { id: projectIdOf(command) } })
  return project.type === 'static'
    ? 'A static site writes no log. See its requests in the dashboard, or its build log with --build.'
    : 'The log has no such lines. See the build log with --build.'
}

/** Rejects an unknown service name, which is probably a typo, instead of printing an empty log. */
async function refuseUnknownService(client: Connection, command: Command, service: string): Promise<void> {
  const params = { id: projectIdOf(command) }
  const { data: project } = await client.call(contract.projects.get, { params })
  const names = project.config.services.map(({ name }) => name)
  if (names.includes(service)) return
  if (names.length > 0) throw new CliError(`Service ${service} does not exist. The project has: ${names.join(', ')}.`, 5)
  // Services of a Compose file are not in the config. A log line without a service means that the project has a single service.
  const { data: lines } = await client.call(contract.projects.logs, { params, query: { tail: 1 } })
  if (lines[0]?.service === null)
    throw new CliError(`Service ${service} does not exist. The project has a single service; omit --service.`, 5)
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
  if (Number.isNaN(time)) throw new CliError(`--since ${since} is not a valid time. Use 2026-01-31T08:00:00Z, 15m, 2h or 1d.`, 2)
  return new Date(time).toISOString()
}

const textOf = ({ time, service, message }: Line) =>
  `${time.slice(11, 19)} ${service ? `${service} | ` : ''}${plainText(message, process.stdout)}`
