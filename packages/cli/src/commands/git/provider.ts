import type { GitHostProvider } from '@berth/contract'
import type { Command } from 'commander'
import { CliError } from '../../exit-codes.ts'

const providers: readonly string[] = ['github', 'gitlab', 'gitea'] satisfies GitHostProvider[]

/** The query parameter for `--provider`. */
export function providerOf(command: Command): { provider?: GitHostProvider } {
  const { provider } = command.opts() as { provider?: string }
  return provider === undefined ? {} : { provider: checkedProvider(provider, '--provider') }
}

export function checkedProvider(provider: string, argument = 'host'): GitHostProvider {
  if (!providers.includes(provider)) throw new CliError(`${argument} must be one of ${providers.join(', ')}`, 2)
  return provider as GitHostProvider
}
