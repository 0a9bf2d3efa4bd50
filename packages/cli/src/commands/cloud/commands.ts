import { type CloudLink, contract, type Quotas } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { output } from '../../output.ts'
import { readStandardInput } from '../../standard-input.ts'

/** `berth cloud`: the link to a cloud account with further projects of the organisation. */
export function addCloud(program: Command): void {
  const cloud = program.command('cloud').description('link this instance to a cloud account; invite users to a cloud')
  cloud
    .command('link <address>')
    .description('link to a cloud; reads the token from standard input: pbpaste | berth cloud link https://cloud.example')
    .action(async (url: string, _options, command: Command) => {
      const token = await readStandardInput()
      const { data } = await connect(command).call(contract.cloud.link, { body: { url, token } })
      output(command).result(data, () => linkText(data))
    })
  cloud
    .command('status')
    .description('show the link and whether the cloud is reachable')
    .action(async (_options, command: Command) => {
      const { data } = await connect(command).call(contract.cloud.getLink, {})
      output(command).result(data, () => linkText(data))
    })
  cloud
    .command('unlink')
    .description('remove the link; projects stay where they are')
    .action(async (_options, command: Command) => {
      await connect(command).call(contract.cloud.unlink, {})
      output(command).result({ linked: false }, () => 'Unlinked. Projects in the cloud stay there.')
    })
  cloud
    .command('invite <email>')
    .description('for cloud operators: invite a user to sign up with an organisation of their own')
    .action(async (email: string, _options, command: Command) => {
      const { data } = await connect(command).call(contract.access.inviteToSignUp, { body: { email } })
      output(command).result(data, () => `${data.email} can sign up once, until ${data.expiresAt.slice(0, 10)}, at:\n${data.url}`)
    })
  cloud
    .command('quotas <organisation>')
    .description(
      'for operators: show quotas and usage of an organisation; pass an option to set a limit, or "default" for the instance’s limit',
    )
    .option('--projects <number>', 'projects')
    .option('--cpu-cores <number>', 'CPU cores of all its environments together')
    .option('--memory-mb <number>', 'memory of all its environments together')
    .option('--builds <number>', 'concurrent deployments')
    .action(async (organizationId: string, options: Record<string, string>, command: Command) => {
      const params = { organizationId }
      const limits = Object.entries(options).map(([name, value]) => [name, value === 'default' ? null : Number(value)])
      const { data } =
        limits.length > 0
          ? await connect(command).call(contract.access.setQuotas, { params, body: Object.fromEntries(limits) })
          : await connect(command).call(contract.access.getQuotas, { params })
      output(command).result(data ?? {}, () => quotasText(data))
    })
}

function quotasText(quotas: Quotas | null): string {
  if (!quotas) return 'No quotas are set for this instance or this organisation.'
  const lines = Object.entries(quotas).map(
    ([name, { limit, used }]) => `${name}: ${used} ${limit === null ? '(no limit)' : `of ${limit}`}`,
  )
  return lines.join('\n')
}

export function linkText({ linked, url, reachable, organizationId, tokenExpiresAt }: CloudLink): string {
  if (!linked)
    return [
      'Not linked to a cloud.',
      'Create a token in the cloud:  berth --url <address> token create <name>',
      'Then link it, with the token on standard input:  berth cloud link <address>',
    ].join('\n')
  const lines = [
    `Linked to ${url}, organisation ${organizationId}`,
    reachable ? 'The cloud is reachable.' : 'The cloud is unreachable or rejects the token.',
    tokenExpiresAt ? `The token expires on ${tokenExpiresAt.slice(0, 10)}.` : '',
  ]
  return lines.filter(Boolean).join('\n')
}
