import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { type Identity, type Recipient, Stanza } from 'age-encryption'

/**
 * age's passphrase stanza (C2SP age.md, "scrypt recipient stanza") with Node's own scrypt: the library's is JavaScript, takes
 * five times as long, and blocks the event loop.
 */
const kind = 'scrypt'
const label = 'age-encryption.org/v1/scrypt'
/** Work factors of age's own tool: about a second of work, and the maximum accepted from an untrusted file. */
const defaultWork = 18
const maxWork = 20
const saltBytes = 16
const tagBytes = 16
const nonce = Buffer.alloc(12)
const cipher = 'chacha20-poly1305'

export const passphraseRecipient = (passphrase: string, work = defaultWork): Recipient => ({
  async wrapFileKey(fileKey) {
    const salt = randomBytes(saltBytes)
    const encryption = createCipheriv(cipher, await keyOf(passphrase, salt, work), nonce, { authTagLength: tagBytes })
    const body = Buffer.concat([encryption.update(fileKey), encryption.final(), encryption.getAuthTag()])
    return [new Stanza([kind, salt.toString('base64').replace(/=+$/, ''), String(work)], body)]
  },
})

export const passphraseIdentity = (passphrase: string): Identity => ({
  async unwrapFileKey(stanzas) {
    const [stanza] = stanzas
    if (stanza?.args[0] !== kind || stanzas.length !== 1) return null
    const [, salt = '', work = ''] = stanza.args
    if (!/^[A-Za-z0-9+/]{22}$/.test(salt) || !/^[1-9]\d?$/.test(work) || Number(work) > maxWork) return null
    const key = await keyOf(passphrase, Buffer.from(salt, 'base64'), Number(work))
    return decryptBody(stanza.body, key)
  },
})

function decryptBody(body: Uint8Array, key: Buffer): Uint8Array | null {
  const decryption = createDecipheriv(cipher, key, nonce, { authTagLength: tagBytes })
  try {
    decryption.setAuthTag(body.subarray(-tagBytes))
    return Buffer.concat([decryption.update(body.subarray(0, -tagBytes)), decryption.final()])
  } catch {
    return null
  }
}

function keyOf(passphrase: string, salt: Buffer, work: number): Promise<Buffer> {
  const options = { N: 2 ** work, r: 8, p: 1, maxmem: 2 ** (work + 11) }
  return new Promise((resolve, reject) =>
    scrypt(passphrase, Buffer.concat([Buffer.from(label), salt]), 32, options, (error, key) =>
      error ? reject(error) : resolve(key),
    ),
  )
}
