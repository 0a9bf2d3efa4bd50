import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { columns, output } from '../output.ts'
import { projectIdOf, projectOption } from '../project-link.ts'

export function addDomains(program: Command): void {
  const domains = program.command('domains').description('manage the domains of the project')
  const common = (command: Command) => command.option(...projectOption)

  common(domains.command('list', { isDefault: true }).description('list domains and their certificates')).action(
    async (_options, command: Command) => {
      const { data } = await connect(command).call(contract.projects.get, { params: { id: projectIdOf(command) } })
      const rows = data.routes.map(({ url, kind, service, tls, state, reason }) => [
        url,
        service ?? kind,
        tls,
        state,
        reason ?? '',
      ])
      output(command).result(data.routes, () => columns([['ADDRESS', 'KIND', 'CERTIFICATE', 'ROUTE', ''], ...rows]))
    },
  )

  common(domains.command('add <domain>').description('add a domain; prints the DNS records to create')).action(
    async (domain: string, _options, command: Command) => {
      const { data } = await connect(command).call(contract.projects.connectDomain, {
        params: { id: projectIdOf(command) },
        body: { domain },
      })
      const rows = data.dnsRecords.map(({ type, name, value }) => [type, name, value])
      output(command).result(data, () =>
        [`create these records where ${domain} is managed:`, columns([['TYPE', 'NAME', 'VALUE'], ...rows])].join('\n'),
      )
    },
  )
}
