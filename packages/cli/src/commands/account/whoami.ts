import { contract } from '@berth/contract'
import { createClient } from '@berth/contract/client'
import type { Command } from 'commander'
import { connect, instanceUrl, removeToken } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { output } from '../../output.ts'

/** `berth whoami`, `logout` and `unlink`: the signed-in user of this machine and the project of this folder. */
export function addWhoami(program: Command): void {
  program
    .command('whoami')
    .description('show the signed-in user, the organisation and your permissions')
    .action(async (_options, command: Command) => {
      const client = connect(command)
      const { data } = await client.call(contract.access.session)
      output(command).result({ url: client.url, ...data }, () =>
        [`${data.user.email}, ${data.role} of ${data.organization.name}`, `at ${client.url}`].join('\n'),
      )
    })

  program
    .command('logout')
    .description('sign out: revoke the token of this machine and delete it here')
    .action(async (_options, command: Command) => {
      const url = instanceUrl(command)
      const token = removeToken(url)
      if (!token) throw new CliError(`You are not signed in to ${url}`, 3)
      const ended = await revokeToken(url, token)
      output(command).result({ url, ended }, () =>
        ended
          ? `signed out of ${url}`
          : `signed out here, but the token could not be revoked; list tokens with berth token list and revoke it there`,
      )
    })
}

/** Revokes the token with itself, which needs no scope. */
async function revokeToken(url: string, token: string): Promise<boolean> {
  const client = createClient({ baseUrl: url, token })
  try {
    const { data } = await client.call(contract.access.session)
    if (!data.tokenId) return false
    await client.call(contract.access.revokeToken, { params: { id: data.tokenId } })
    return true
  } catch {
    return false
  }
}
