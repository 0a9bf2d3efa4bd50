/** The key of a bundle in a file, which lies in the file itself: locked with a passphrase, or to somebody's age key. */
export type BundleLock = { passphrase: string } | { recipient: string }
export type BundleUnlock = { passphrase: string } | { identity: string }

export async function newBundleKey(): Promise<{ identity: string; recipient: string }> {
  const { generateX25519Identity, identityToRecipient } = await import('age-encryption')
  const identity = await generateX25519Identity()
  return { identity, recipient: await identityToRecipient(identity) }
}

export async function lockBundleKey(identity: string, lock: BundleLock): Promise<Uint8Array> {
  const { Encrypter } = await import('age-encryption')
  const encrypter = new Encrypter()
  if ('passphrase' in lock) encrypter.setPassphrase(lock.passphrase)
  else encrypter.addRecipient(lock.recipient)
  return encrypter.encrypt(`${identity}\n`)
}

/** Rejects when it is the wrong key, or the file was changed. */
export async function openBundleKey(locked: Uint8Array, unlock: BundleUnlock): Promise<string> {
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  if ('passphrase' in unlock) decrypter.addPassphrase(unlock.passphrase)
  else decrypter.addIdentity(unlock.identity)
  return (await decrypter.decrypt(locked, 'text')).trim()
}
