import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { AssertionResponse, CreationOptions, RegistrationResponse, RequestOptions } from '@berth/contract'

/** Deviations from what a browser and a good authenticator send. */
export interface Flaws {
  origin?: string
  type?: string
  /** The flags of the authenticator data: 1 is presence, 4 verification. */
  flags?: number
  hostname?: string
  counter?: number
  fmt?: string
  attStmt?: Map<string, Cbor>
  userHandle?: string | null
  /** The COSE number that the key states for its algorithm. */
  algorithm?: number
}

/** A passkey in memory, with an ES256 key. It answers like a browser's `PublicKeyCredential.toJSON()`. */
export function softwareAuthenticator(origin: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = randomBytes(32)
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const coseKeyOf = ({ algorithm = -7 }: Flaws) =>
    cbor(
      new Map<Cbor, Cbor>([
        [1, 2],
        [3, algorithm],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ]),
    )
  let userHandle = ''
  const clientDataOf = (type: string, challenge: string, flaws: Flaws) =>
    Buffer.from(JSON.stringify({ type: flaws.type ?? type, challenge, origin: flaws.origin ?? origin, crossOrigin: false }))
  const dataOf = (hostname: string, flags: number, counter: number) => {
    const fixed = Buffer.alloc(5)
    fixed[0] = flags
    fixed.writeUInt32BE(counter, 1)
    return Buffer.concat([sha256(Buffer.from(hostname)), fixed])
  }
  return {
    id: id.toString('base64url'),
    create(options: CreationOptions, flaws: Flaws = {}): RegistrationResponse {
      userHandle = options.user.id
      const length = Buffer.from([0, id.length])
      const head = dataOf(flaws.hostname ?? options.rp.id, 0x40 | (flaws.flags ?? 5), flaws.counter ?? 0)
      const authData = Buffer.concat([head, Buffer.alloc(16), length, id, coseKeyOf(flaws)])
      const attestation = new Map<Cbor, Cbor>([
        ['fmt', flaws.fmt ?? 'none'],
        ['attStmt', flaws.attStmt ?? new Map()],
        ['authData', authData],
      ])
      return credential(id, {
        clientDataJSON: clientDataOf('webauthn.create', options.challenge, flaws).toString('base64url'),
        attestationObject: cbor(attestation).toString('base64url'),
      })
    },
    get(options: RequestOptions, flaws: Flaws = {}): AssertionResponse {
      const clientData = clientDataOf('webauthn.get', options.challenge, flaws)
      const data = dataOf(flaws.hostname ?? new URL(origin).hostname, flaws.flags ?? 5, flaws.counter ?? 0)
      const signature = sign('sha256', Buffer.concat([data, sha256(clientData)]), privateKey)
      return credential(id, {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle: flaws.userHandle === undefined ? userHandle : flaws.userHandle,
      })
    },
  }
}

const credential = <Response>(id: Buffer, response: Response) => ({
  id: id.toString('base64url'),
  rawId: id.toString('base64url'),
  type: 'public-key' as const,
  response,
})

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest()

export type Cbor = number | string | Buffer | Cbor[] | Map<Cbor, Cbor>

/** Encodes the values that WebAuthn uses. */
export function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)])
  return Buffer.concat([head(5, value.size), ...[...value].flat().map(cbor)])
}

function head(major: number, count: number): Buffer {
  if (count < 24) return Buffer.from([(major << 5) | count])
  if (count < 256) return Buffer.from([(major << 5) | 24, count])
  return Buffer.from([(major << 5) | 25, count >> 8, count & 255])
}
