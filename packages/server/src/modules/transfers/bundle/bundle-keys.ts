import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import type { TransfersDeps } from '../deps.ts'

export interface ExportKeys {
  /** Ed25519, as PKCS #8 in base64. */
  signingKey: string
  /** Key of the hashes by which equal parts are recognised; the target receives it within the encrypted bundle. */
  contentKey: string
}

export interface ImportKeys {
  /** `AGE-SECRET-KEY-1…` */
  identity: string
}

/** A new key that signs the manifests of one export, and its public key. */
export function newExportKeys(): { secrets: ExportKeys; signer: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { x } = publicKey.export({ format: 'jwk' })
  const signingKey = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')
  return { secrets: { signingKey, contentKey: randomBytes(32).toString('base64') }, signer: x as string }
}

export async function newImportKeys(given?: string): Promise<{ secrets: ImportKeys; recipient: string }> {
  const { generateX25519Identity, identityToRecipient } = await import('age-encryption')
  const identity = given ?? (await generateX25519Identity())
  return { secrets: { identity }, recipient: await identityToRecipient(identity) }
}

export const sealKeys = (id: string, secrets: ExportKeys | ImportKeys, { secretBox }: TransfersDeps): string =>
  secretBox.seal(JSON.stringify(secrets), sealedFor.transferSecrets(id))

export function openKeys<Secrets extends ExportKeys | ImportKeys>(
  { id, secrets }: Pick<TransferSideRow, 'id' | 'secrets'>,
  { secretBox }: TransfersDeps,
): Secrets {
  if (secrets === null) throw new Error(`the transfer ${id} has ended`)
  return JSON.parse(secretBox.open(secrets, sealedFor.transferSecrets(id)).reveal()) as Secrets
}
