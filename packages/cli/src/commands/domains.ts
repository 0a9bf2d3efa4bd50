import { contract, hostNameIn, type Project, type ProjectDomain } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { CliError } from '../exit-codes.ts'
import { columns, output } from '../output.ts'
import { projectIdOf, projectOption } from '../project-link.ts'

export function addDomains(program: Command): void {
  const domains = program.command('domains').description('manage the domains of the project')
  const common = (command: Command) => command.option(...projectOption)

  common(domains.command('list', { isDefault: true }).description('list domains, and the DNS records of unverified ones')).action(
    async (_options, command: Command) => {
      const client = connect(command)
      const params = { id: projectIdOf(command) }
      const [{ data: project }, { data }] = await Promise.all([
        client.call(contract.projects.get, { params }),
        client.call(contract.projects.listDomains, { params, query: { limit: 500 } }),
      ])
      output(command).result(data, () => listText(data, project))
    },
  )

  common(domains.command('add <domain>').description('add a domain; prints the DNS records to create')).action(
    async (typed: string, _options, command: Command) => {
      const domain = hostNameIn(typed)
      const { data } = await connect(command).call(contract.projects.connectDomain, {
        params: { id: projectIdOf(command) },
        body: { domain },
      })
      output(command).result(data, () => recordsText(domain, data.dnsRecords))
    },
  )

  common(domains.command('remove <domain>').description('remove a domain; it is no longer served')).action(
    async (typed: string, _options, command: Command) => {
      const hostname = hostNameIn(typed)
      await connect(command).call(contract.projects.removeDomain, { params: { id: projectIdOf(command), hostname } })
      output(command).result({ removed: hostname }, () => `${hostname} is removed`)
    },
  )

  common(domains.command('verify <domain>').description('check the DNS records of a domain now'))
    .addHelpText('after', '\nThe exit code is 1 while the domain is not verified.')
    .action(async (typed: string, _options, command: Command) => {
      const hostname = hostNameIn(typed)
      const { data } = await connect(command).call(contract.projects.verifyDomain, {
        params: { id: projectIdOf(command), hostname },
      })
      const { verified, reason } = data
      output(command).result(data, () => (verified ? `${data.hostname} is verified` : checkedText(data)))
      if (!verified) throw new CliError(reason ?? `${data.hostname} is not verified.`)
      if (reason) output(command).note(reason)
    })

  common(domains.command('primary <domain>').description('make a domain, or the free domain, the primary one')).action(
    async (typed: string, _options, command: Command) => {
      const hostname = hostNameIn(typed)
      const { data } = await connect(command).call(contract.projects.makeDomainPrimary, {
        params: { id: projectIdOf(command), hostname },
      })
      output(command).result(data, () => `${data.hostname} is the primary domain`)
      if (data.state !== 'active') output(command).note(`It becomes the project's address once it is verified and served.`)
    },
  )
}

/** The domains, then the addresses of services, then the records of the domains that are not verified. */
function listText(domains: readonly ProjectDomain[], { routes }: Pick<Project, 'routes'>): string {
  const urls = new Map(routes.map(({ hostname, url }) => [hostname, url]))
  const rows = domains.map((domain) => [
    urls.get(domain.hostname) ?? domain.hostname,
    domain.primary ? `${domain.kind}, primary` : domain.kind,
    domain.state,
    domain.tls,
    // The rest of the reason repeats the records that are printed below.
    (isWaitingForDns(domain) ? domain.reason?.replace(/(?<=\.) .*$/s, '') : domain.reason) ?? '',
  ])
  const serviceRows = routes.flatMap(({ url, service, state, tls, reason }) =>
    service === undefined ? [] : [[url, service, state === 'synced' ? 'active' : state, tls, reason ?? '']],
  )
  return [
    columns([['ADDRESS', 'KIND', 'STATE', 'CERTIFICATE', ''], ...rows, ...serviceRows]),
    ...domains.filter(isWaitingForDns).map((domain) => [`\n${checkedText(domain)}`, ...loopbackHint(domain)].join('\n')),
  ].join('\n')
}

/** An active certificate proves that requests arrive, even if the domain resolves to the address of a proxy. */
const isWaitingForDns = ({ verified, pointsHere, tls }: ProjectDomain): boolean =>
  !verified || (pointsHere === false && tls !== 'active')

const recordsText = (hostname: string, records: ProjectDomain['records']): string =>
  [
    `create these records where ${hostname} is managed:`,
    columns([['TYPE', 'NAME', 'VALUE'], ...records.map(({ type, name, value }) => [type, name, value])]),
  ].join('\n')

/** The records with the result of the last check: the TXT record decides `verified`, the others `pointsHere`. */
const checkedText = ({ hostname, records, verified, pointsHere }: ProjectDomain): string => {
  const found = (type: string) => (type === 'TXT' ? verified : pointsHere)
  const rows = records.map(({ type, name, value }) => [type, name, value, foundText(found(type))])
  return [`create these records where ${hostname} is managed:`, columns([['TYPE', 'NAME', 'VALUE', 'FOUND'], ...rows])].join('\n')
}

/** The part of the reason that warns about records with a loopback address: other machines would reach themselves. */
const loopbackHint = ({ reason }: ProjectDomain): string[] =>
  /\S+ is reachable only from this machine\..*/s.exec(reason ?? '')?.slice(0, 1) ?? []

const foundText = (found: boolean | null) => (found === null ? 'unknown' : found ? 'yes' : 'no')
