import { setTimeout as pause } from 'node:timers/promises'
import { type ConnectReply, contract, type GitHostProvider } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { output } from '../../output.ts'
import { providerOf } from './provider.ts'

interface Options {
  source?: 'oauth' | 'cli'
  wait: boolean
}

type Client = ReturnType<typeof connect>

/** Lifetime of a link or a code. */
const maxWaitMs = 10 * 60_000

export function addGitConnect(git: Command): void {
  git
    .command('connect')
    .description('connect a git host: with its app, your account, or the gh login of the machine')
    .option('--source <source>', 'oauth (your account) or cli (the gh login of the machine that Berth runs on)')
    .option('--provider <host>', 'github, gitlab or gitea (default: the configured one)')
    .option('--no-wait', 'print the instructions and exit without waiting')
    .action(async ({ source, wait }: Options, command: Command) => {
      const [print, client, query] = [output(command), connect(command), providerOf(command)]
      if (source && source !== 'oauth' && source !== 'cli') throw new CliError('--source must be oauth or cli', 2)
      const reply = await client.call(contract.gitHost.connect, { body: source ? { source } : {}, query })
      if (reply.connected) return print.result(reply, () => 'connected')
      const next = nextStep(reply)
      if (!wait || reply.flow === 'terminal') return print.result(reply, () => next)
      print.note(next)
      await waitUntilConnected(reply, client, query)
      const status = await client.call(contract.gitHost.status, { query })
      print.result(status, () => `connected: ${status.accounts.map(({ login }) => login).join(', ')}`)
    })
}

type PendingConnect = Exclude<ConnectReply, { connected: true }>

function nextStep(reply: PendingConnect): string {
  if (reply.flow === 'terminal') return `${reply.message}:\n\n  ${reply.command}`
  if (reply.flow === 'redirect') return `Open this in your browser within ten minutes:\n\n  ${reply.url}\n`
  return `Open ${reply.verificationUri} and type this code:\n\n  ${reply.userCode}\n`
}

/** Both flows end in the browser; polls the instance until it is connected. */
async function waitUntilConnected(reply: PendingConnect, client: Client, query: { provider?: GitHostProvider }): Promise<void> {
  const end = reply.flow === 'device_code' ? Date.parse(reply.expiresAt) : Date.now() + maxWaitMs
  while (Date.now() < end) {
    if (reply.flow === 'device_code') {
      const { data } = await client.call(contract.gitHost.pollConnect, { query })
      if (data.connected) return
      if (data.status !== 'pending') throw new CliError(data.message ?? 'The login was not completed')
      await pause((data.intervalSeconds ?? reply.intervalSeconds) * 1000)
    } else {
      const { state } = await client.call(contract.gitHost.status, { query })
      if (state === 'connected') return
      await pause(2_000)
    }
  }
  throw new CliError('The login timed out. Run berth git connect again.')
}
