import { contract } from '@berth/contract'
import { createClient } from '@berth/contract/client'
import type { Command } from 'commander'
import { connect, forgetToken, instanceUrl } from '../credentials.ts'
import { Plain } from '../exit-codes.ts'
import { output } from '../output.ts'
import { linkedFolder, removeLink } from '../project-link.ts'

/** `berth whoami`, `logout` and `unlink`: who and what this machine and this folder stand for. */
export function addAccount(program: Command): void {
  program
    .command('whoami')
    .description('who you are, where, and what you may do')
    .action(async (_options, command: Command) => {
      const client = connect(command)
      const { data } = await client.call(contract.access.session)
      output(command).result({ url: client.url, ...data }, () =>
        [`${data.user.email}, ${data.role} of ${data.organization.name}`, `at ${client.url}`].join('\n'),
      )
    })

  program
    .command('logout')
    .description('forget the token of this instance and end it there')
    .action(async (_options, command: Command) => {
      const url = instanceUrl(command)
      const token = forgetToken(url)
      if (!token) throw new Plain(`You are not signed in to ${url}`, 3)
      const ended = await endToken(url, token)
      output(command).result({ url, ended }, () =>
        ended ? `signed out of ${url}` : `signed out here; the token itself could not be ended: revoke it with berth token list`,
      )
    })

  program
    .command('unlink')
    .description('the folder is no project any more; the project itself stays')
    .action((_options, command: Command) => {
      const folder = linkedFolder('.')
      if (!folder) throw new Plain('This folder is not linked to a project', 5)
      removeLink(folder)
      output(command).result({ folder }, () => `${folder} is linked to no project any more`)
    })
}

/** Revokes the token with itself, which needs no scope. */
async function endToken(url: string, token: string): Promise<boolean> {
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
