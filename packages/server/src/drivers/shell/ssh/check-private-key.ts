/** Null when the key can be used for a login, else the reason. */
export async function checkPrivateKey(text: string): Promise<string | null> {
  const { default: ssh2 } = await import('ssh2')
  const parsed = ssh2.utils.parseKey(text)
  if (parsed instanceof Error)
    return /passphrase|encrypted/i.test(parsed.message)
      ? 'is protected by a passphrase: give a key without one, made for this server alone'
      : 'is not a private key that SSH can read: give the whole text of the file, its first and last line included'
  const key = Array.isArray(parsed) ? parsed[0] : parsed
  return key?.isPrivateKey() ? null : 'is a public key: give the private one, and put the public one on the server'
}
