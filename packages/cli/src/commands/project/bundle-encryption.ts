import { readFile } from 'node:fs/promises'
import { password as askPassword } from '@clack/prompts'
import { CliError } from '../../exit-codes.ts'
import { ask } from '../../prompt.ts'
import { readStandardInput } from '../../standard-input.ts'

export interface EncryptionOptions {
  recipient?: string
  passphraseStdin?: boolean
}

export async function encryptionOf({
  recipient,
  passphraseStdin,
}: EncryptionOptions): Promise<{ recipient: string } | { passphrase: string }> {
  if (recipient && !/^age1[a-z0-9]{58}$/.test(recipient))
    throw new CliError(`${recipient} is not an age recipient. A recipient starts with age1.`, 2)
  if (recipient) return { recipient }
  const passphrase = passphraseStdin ? await readStandardInput() : await promptPassphrase('Passphrase for the bundle')
  if (passphrase.length < 8)
    throw new CliError('Choose a passphrase of at least 8 characters: the bundle holds the secrets of the project', 2)
  return { passphrase }
}

export interface DecryptionOptions {
  key?: string
  passphraseStdin?: boolean
}

export async function decryptionOf({
  key,
  passphraseStdin,
}: DecryptionOptions): Promise<{ identity: string } | { passphrase: string }> {
  if (!key)
    return { passphrase: passphraseStdin ? await readStandardInput() : await promptPassphrase('Passphrase of the bundle') }
  const lines = (await readFile(key, 'utf8')).split('\n').map((line) => line.trim())
  const identity = lines.find((line) => line.startsWith('AGE-SECRET-KEY-1'))
  return identity ? { identity } : fail(`${key} contains no age key`)
}

const promptPassphrase = async (message: string): Promise<string> =>
  (await ask(() => askPassword({ message }), '--passphrase-stdin')) ?? fail('Cancelled. Nothing was changed.')

function fail(message: string): never {
  throw new CliError(message, 2)
}
