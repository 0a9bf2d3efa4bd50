/** Encryption of a bundle file's key, which is stored in the file itself: encrypted with a passphrase or to a user's age key. */
export type BundleEncryption = { passphrase: string } | { recipient: string }
export type BundleDecryption = { passphrase: string } | { identity: string }

export async function newBundleKey(): Promise<{ identity: string; recipient: string }> {
  const { generateX25519Identity, identityToRecipient } = await import('age-encryption')
  const identity = await generateX25519Identity()
  return { identity, recipient: await identityToRecipient(identity) }
}

export async function encryptBundleKey(identity: string, encryption: BundleEncryption): Promise<Uint8Array> {
  const { Encrypter } = await import('age-encryption')
  const { passphraseRecipient } = await import('./passphrase.ts')
  const encrypter = new Encrypter()
  encrypter.addRecipient('passphrase' in encryption ? passphraseRecipient(encryption.passphrase) : encryption.recipient)
  return encrypter.encrypt(`${identity}\n`)
}

/** Rejects when the key is wrong, or the file was modified. */
export async function decryptBundleKey(encrypted: Uint8Array, decryption: BundleDecryption): Promise<string> {
  const { Decrypter } = await import('age-encryption')
  const { passphraseIdentity } = await import('./passphrase.ts')
  const decrypter = new Decrypter()
  decrypter.addIdentity('passphrase' in decryption ? passphraseIdentity(decryption.passphrase) : decryption.identity)
  return (await decrypter.decrypt(encrypted, 'text')).trim()
}
