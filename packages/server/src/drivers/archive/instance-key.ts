import { hkdfSync, randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Secret } from '../../platform/secrets/secret.ts'

const identityLine = /^AGE-SECRET-KEY-1[0-9A-Z]{58}$/

export class KeyUnusable extends Error {
  override readonly name = 'KeyUnusable'
}

/**
 * The instance's age identity, in a file that only its owner can read; generated if it does not exist. The `age` command
 * accepts the file as `-i`. Without it no backup can be decrypted.
 */
export async function readOrCreateIdentity(file: string): Promise<{ identity: Secret; isNew: boolean }> {
  const found = await readIdentity(file)
  if (found) return { identity: found, isNew: false }
  const { generateX25519Identity } = await import('age-encryption')
  const created = await generateX25519Identity()
  await writeIdentities(file, [new Secret(created)])
  // Another process may have created the file first: its key is used.
  const stored = await readIdentity(file)
  if (!stored) throw new KeyUnusable(`${file} cannot be read back after it was written`)
  return { identity: stored, isNew: stored.reveal() === created }
}

/** Writes the identities to a new file; an existing file is left unchanged. */
export const writeIdentities = (file: string, identities: readonly Secret[]): Promise<void> =>
  writeNew(
    file,
    [
      '# The key of all backups of this Berth instance. Keep a copy on another machine: without it they cannot be restored.',
      ...identities.map((identity) => identity.reveal()),
      '',
    ].join('\n'),
  )

/** Undefined when the file does not exist. */
export async function readIdentity(file: string): Promise<Secret | undefined> {
  return (await readIdentities(file))?.[0]
}

/** All identities: data is encrypted to the first; the others decrypt data that was encrypted to them earlier. */
export async function readIdentities(file: string): Promise<[Secret, ...Secret[]] | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return text === undefined ? undefined : identitiesIn(text, file)
}

/** The identities in the text of a key file, as `age-keygen` writes them. */
export function identitiesIn(text: string, file: string): [Secret, ...Secret[]] {
  const lines = text.split('\n').map((line) => line.trim())
  const [first, ...others] = lines.filter((line) => identityLine.test(line)).map((line) => new Secret(line))
  if (first) return [first, ...others]
  throw new KeyUnusable(`${file} contains no age key. Add a line that starts with AGE-SECRET-KEY-1.`)
}

export async function recipientOf(identity: Secret): Promise<string> {
  const { identityToRecipient } = await import('age-encryption')
  return identityToRecipient(identity.reveal())
}

/** Key of the hashes that recognise equal content. An attacker with access to the destination alone learns nothing from them. */
export const contentKeyOf = (identity: Secret): Buffer =>
  Buffer.from(hkdfSync('sha256', identity.reveal(), '', 'berth: content of backup parts', 32))

/** Atomic, and never overwrites an existing file. */
async function writeNew(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${randomBytes(6).toString('hex')}.draft`
  const handle = await open(draft, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  try {
    await link(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
}
