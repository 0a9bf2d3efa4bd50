import { type AdoptReply, contract, type DiscoveredService, type Stack } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { columns, output } from '../../output.ts'
import { findServer } from '../servers/commands.ts'

interface AdoptOptions {
  name: string
  plan?: boolean
}

/** `berth migrate`: adopts services that already run on a server. */
export function addMigrate(program: Command): void {
  const migrate = program.command('migrate').description('adopt services that already run on a server')
  migrate
    .command('scan <server>')
    .description('list the services on a server (name or id); changes nothing')
    .action(async (server: string, _options, command: Command) => {
      const { id: serverId } = await findServer(server, command)
      const reply = await connect(command).call(contract.migration.scan, { body: { serverId } })
      output(command).result(reply, () => tableOf(reply.stack))
    })
  migrate
    .command('adopt <server> <service...>')
    .description('create a project from services; nothing on the server changes until it is deployed')
    .requiredOption('--name <name>', 'name of the project')
    .option('--plan', 'dry run: show what a deployment would do')
    .action(async (server: string, serviceNames: string[], { name, plan }: AdoptOptions, command: Command) => {
      const { id: serverId } = await findServer(server, command)
      const body = { serverId, projectName: name, serviceNames }
      const reply = await connect(command).call(contract.migration.adopt, { body, ...(plan ? { query: { plan: true } } : {}) })
      output(command).result(reply, () => adoptionOf(reply))
    })
}

function tableOf(stack: Stack): string {
  const rows = [
    ...stack.composeProjects.flatMap(({ name, services }) => services.map((service) => rowOf(name, service))),
    ...stack.containers.map((service) => rowOf('-', service)),
  ]
  const files = stack.composeProjects
    .filter(({ fileState }) => fileState !== 'read')
    .map(
      ({ name, fileState, configFiles }) =>
        `${name}: its Compose file is ${fileState} (${configFiles.join(', ') || 'no file named'})`,
    )
  const { adoptable, services, containers, volumes } = stack.summary
  return [
    columns([['STACK', 'SERVICE', 'IMAGE', 'STATE', 'PORTS', 'VOLUMES', 'DRIFT', 'ADOPTABLE'], ...rows]),
    '',
    `Docker ${stack.docker.version}: ${services + containers} services, ${volumes} volumes, ${adoptable} adoptable`,
    ...files,
    ...stack.warnings.map((warning) => `Warning: ${warning}`),
  ].join('\n')
}

function rowOf(stack: string, service: DiscoveredService): string[] {
  const ports = service.ports
    .filter(({ hostPort }) => hostPort !== null)
    .map(({ hostPort, containerPort }) => `${hostPort}→${containerPort}`)
  return [
    stack,
    service.name,
    service.image ?? '-',
    service.state,
    ports.join(' ') || '-',
    service.volumes.map(({ source, target }) => source ?? target).join(' ') || '-',
    service.drift.join(' ') || '-',
    service.adoptable ? 'yes' : `no: ${service.reason ?? ''}`,
  ]
}

function adoptionOf({ project, adopted, renamed, warnings, plan }: AdoptReply): string {
  const names = adopted.map(({ name }) => name).join(', ')
  return [
    project
      ? `Created project ${project.slug} (${project.id}) from ${names}. Deploy it to take over.`
      : `Dry run: the project would have the services ${names}.`,
    ...Object.entries(renamed).map(([oldName, name]) => `${oldName} is called ${name} in the project`),
    ...warnings.map((warning) => `Warning: ${warning}`),
    '',
    'A deployment will:',
    ...plan.map((step, at) => `${String(at + 1).padStart(3)}. ${step}`),
  ].join('\n')
}
