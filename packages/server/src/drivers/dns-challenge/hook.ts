import { errorMessage } from '../../platform/error-message.ts'
import type { RunCommand } from '../shell/command.ts'
import { type DnsChallenge, DnsProviderFailed } from './dns-challenge.ts'

export interface HookSettings {
  run: RunCommand
  /** Program and its first arguments. */
  command: readonly string[]
  timeoutMs?: number
}

/**
 * A program of the operator, run without a shell as `<program> <args…> present|remove <name> <value>`. Exit code 0 means success.
 */
export function createHook({ run, command, timeoutMs = 120_000 }: HookSettings): DnsChallenge {
  const [program = '', ...args] = command
  const call = async (verb: 'present' | 'remove', name: string, value: string, abort: AbortSignal) => {
    try {
      await run({ program, args: [...args, verb, name, value] }, { timeoutMs, abort, maxOutputBytes: 16_384 })
    } catch (error) {
      abort.throwIfAborted()
      throw new DnsProviderFailed(`The DNS hook failed: ${errorMessage(error)}`, { cause: error })
    }
  }
  return {
    present: (name, value, abort) => call('present', name, value, abort),
    remove: (name, value, abort) => call('remove', name, value, abort),
  }
}
