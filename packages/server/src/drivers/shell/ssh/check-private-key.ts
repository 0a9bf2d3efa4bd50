/** Null when the key can be used for a login, else the reason. */
export async function checkPrivateKey(text: string): Promise<string | null> {
  const { default: ssh2 } = await import('ssh2')
  const parsed = ssh2.utils.parseKey(text)
  if (parsed instanceof Error)
    return /passphrase|encrypted/i.test(parsed.message)
      ? 'is protected by a passphrase: create a key without a passphrase for this server only'
      : 'is not a private key that SSH can read: paste the whole file, including its first and last line'
  const key = Array.isArray(parsed) ? parsed[0] : parsed
  return key?.isPrivateKey() ? null : 'is a public key: enter the private key here, and add the public key to the server'
}
