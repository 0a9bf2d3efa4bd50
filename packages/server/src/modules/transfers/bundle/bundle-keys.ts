import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { type Static, type TSchema, Type } from 'typebox'
import { sealedJson } from '../../../platform/db/json-columns/json-column.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import type { TransfersDeps } from '../deps.ts'

const ExportKeys = Type.Object({
  /** Ed25519, as PKCS #8 in base64. */
  signingKey: Type.String(),
  /** Key of the hashes by which equal parts are recognised; the target receives it within the encrypted bundle. */
  contentKey: Type.String(),
})
type ExportKeys = Static<typeof ExportKeys>

const ImportKeys = Type.Object({
  /** `AGE-SECRET-KEY-1…` */
  identity: Type.String(),
})
type ImportKeys = Static<typeof ImportKeys>

/** A new key that signs the manifests of one export, and its public key. */
export function newExportKeys(): { secrets: ExportKeys; signer: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { x } = publicKey.export({ format: 'jwk' })
  const signingKey = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')
  return { secrets: { signingKey, contentKey: randomBytes(32).toString('base64') }, signer: x as string }
}

export async function newImportKeys(existingSecret?: string): Promise<{ secrets: ImportKeys; recipient: string }> {
  const { generateX25519Identity, identityToRecipient } = await import('age-encryption')
  const identity = existingSecret ?? (await generateX25519Identity())
  return { secrets: { identity }, recipient: await identityToRecipient(identity) }
}

export const sealKeys = (id: string, secrets: ExportKeys | ImportKeys, { secretBox }: TransfersDeps): string =>
  secretBox.seal(JSON.stringify(secrets), sealedFor.transferSecrets(id))

export const openExportKeys = opener(ExportKeys)
export const openImportKeys = opener(ImportKeys)

function opener<Shape extends TSchema>(shape: Shape) {
  const read = sealedJson('transferEnds.secrets', shape)
  return ({ id, secrets }: Pick<TransferSideRow, 'id' | 'secrets'>, { secretBox }: TransfersDeps): Static<Shape> => {
    if (secrets === null) throw new Error(`the transfer ${id} has ended`)
    return read(secretBox.open(secrets, sealedFor.transferSecrets(id)).reveal(), id)
  }
}
