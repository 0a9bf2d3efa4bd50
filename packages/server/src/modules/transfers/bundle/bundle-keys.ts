import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { TransferEndRow } from '../../../platform/db/tables/transfers.ts'
import type { TransfersDeps } from '../deps.ts'

export interface DepartureSecrets {
  /** Ed25519, as PKCS #8 in base64. */
  signingKey: string
  /** Key of the hashes by which equal parts are recognised; the target receives it within the encrypted bundle. */
  contentKey: string
}

export interface ArrivalSecrets {
  /** `AGE-SECRET-KEY-1…` */
  identity: string
}

/** A new key that signs the manifests of one export, and its public key. */
export function newDepartureSecrets(): { secrets: DepartureSecrets; signer: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { x } = publicKey.export({ format: 'jwk' })
  const signingKey = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')
  return { secrets: { signingKey, contentKey: randomBytes(32).toString('base64') }, signer: x as string }
}

export async function newArrivalSecrets(given?: string): Promise<{ secrets: ArrivalSecrets; recipient: string }> {
  const { generateX25519Identity, identityToRecipient } = await import('age-encryption')
  const identity = given ?? (await generateX25519Identity())
  return { secrets: { identity }, recipient: await identityToRecipient(identity) }
}

export const sealSecrets = (id: string, secrets: DepartureSecrets | ArrivalSecrets, { secretBox }: TransfersDeps): string =>
  secretBox.seal(JSON.stringify(secrets), sealedFor.transferSecrets(id))

export function openSecrets<Secrets extends DepartureSecrets | ArrivalSecrets>(
  { id, secrets }: Pick<TransferEndRow, 'id' | 'secrets'>,
  { secretBox }: TransfersDeps,
): Secrets {
  if (secrets === null) throw new Error(`the transfer ${id} has ended`)
  return JSON.parse(secretBox.open(secrets, sealedFor.transferSecrets(id)).reveal()) as Secrets
}
