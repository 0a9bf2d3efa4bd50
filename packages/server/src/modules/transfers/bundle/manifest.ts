import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { BundleFile, TransferId } from '@berth/contract'
import { type Static, Type } from 'typebox'
import { checkShape } from '../../../http/validate.ts'
import { TransferFailed } from '../failures.ts'

const format = 'berth-transfer/1'

/** The files of a bundle in one pass; signed. The body, which is one of them, describes their content. */
export const Manifest = Type.Object({
  format: Type.String(),
  transfer: TransferId,
  project: Type.String(),
  /** 1: packed while the project served. 2: packed after it was stopped. */
  pass: Type.Integer({ minimum: 1, maximum: 2 }),
  compression: Type.Union([Type.Literal('zstd'), Type.Literal('gzip')]),
  body: BundleFile,
  files: Type.Array(BundleFile),
})
export type Manifest = Static<typeof Manifest>

const Signed = Type.Object({ manifest: Type.String(), signature: Type.String({ maxLength: 200 }) })

export const manifestName = (pass: number) => `manifest.${pass}.json`

export function signManifest(manifest: Omit<Manifest, 'format'>, signingKey: string): Buffer {
  const text = JSON.stringify({ format, ...manifest } satisfies Manifest)
  const key = createPrivateKey({ key: Buffer.from(signingKey, 'base64'), format: 'der', type: 'pkcs8' })
  return Buffer.from(JSON.stringify({ manifest: text, signature: sign(null, Buffer.from(text), key).toString('base64') }))
}

interface Expected {
  signer: string
  transfer: string
  project: string
  pass: number
}

/** Refuses a manifest that was modified, or that belongs to another transfer, project or pass. */
export function readManifest(bytes: Buffer, { signer, ...expected }: Expected): Manifest {
  const { manifest: text, signature } = checkShape(Signed, parsed(bytes.toString('utf8')))
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: signer }, format: 'jwk' })
  if (!verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64')))
    throw new TransferFailed('bundle_damaged', 'The signature of the bundle manifest is invalid')
  const manifest = checkShape(Manifest, parsed(text))
  if (manifest.format !== format)
    throw new TransferFailed('bundle_unknown', 'The bundle format is not supported by this version of Berth. Update Berth.')
  const isExpected =
    manifest.transfer === expected.transfer && manifest.project === expected.project && manifest.pass === expected.pass
  if (!isExpected) throw new TransferFailed('bundle_damaged', 'The manifest belongs to another transfer')
  return manifest
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new TransferFailed('bundle_damaged', 'The manifest of the bundle is invalid', { cause })
  }
}
