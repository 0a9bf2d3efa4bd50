/** Lock of a bundle file's key, which is stored in the file itself: encrypted with a passphrase or to a user's age key. */
export type BundleLock = { passphrase: string } | { recipient: string }
export type BundleUnlock = { passphrase: string } | { identity: string }

export async function newBundleKey(): Promise<{ identity: string; recipient: string }> {
  const { generateX25519Identity, identityToRecipient } = await import('age-encryption')
  const identity = await generateX25519Identity()
  return { identity, recipient: await identityToRecipient(identity) }
}

export async function lockBundleKey(identity: string, lock: BundleLock): Promise<Uint8Array> {
  const { Encrypter } = await import('age-encryption')
  const { passphraseRecipient } = await import('./passphrase.ts')
  const encrypter = new Encrypter()
  encrypter.addRecipient('passphrase' in lock ? passphraseRecipient(lock.passphrase) : lock.recipient)
  return encrypter.encrypt(`${identity}\n`)
}

/** Rejects when the key is wrong, or the file was modified. */
export async function openBundleKey(locked: Uint8Array, unlock: BundleUnlock): Promise<string> {
  const { Decrypter } = await import('age-encryption')
  const { passphraseIdentity } = await import('./passphrase.ts')
  const decrypter = new Decrypter()
  decrypter.addIdentity('passphrase' in unlock ? passphraseIdentity(unlock.passphrase) : unlock.identity)
  return (await decrypter.decrypt(locked, 'text')).trim()
}
