import { createPrivateKey, X509Certificate } from 'node:crypto'
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { EdgeCertificate } from '../../edge-proxy/protocol/edge-table.ts'
import { sealedFor } from '../../platform/db/sealed-columns.ts'
import type { CertificateRow } from '../../platform/db/tables/routing.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'

type Row = Pick<CertificateRow, 'hostname' | 'certificate' | 'privateKey'>
type Found = { pair: EdgeCertificate } | { problem: string }
type Opened = { row: Row } & Found

/** A certificate with its decrypted key, or the reason why it cannot be used. */
export function openCertificate(row: Row, secretBox: SecretBox): Found {
  try {
    const { hostname, certificate: cert } = row
    const key = secretBox.open(row.privateKey, sealedFor.certificateKey(hostname)).reveal()
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
      return { problem: 'The certificate cannot be used: it does not match its private key' }
    return { pair: { cert, key } }
  } catch {
    // The error may quote the unreadable content.
    return { problem: 'The certificate cannot be used: it or its private key is malformed' }
  }
}

export interface Certificates {
  usable: Record<string, EdgeCertificate>
  /** Problems by host name. */
  problems: Map<string, string>
}

const opensPerYield = 50

/** Decrypts and checks each certificate once. An unusable one affects only its host name. */
export class UsableCertificates {
  readonly #secretBox: SecretBox
  #cache = new Map<string, Opened>()

  constructor(secretBox: SecretBox) {
    this.#secretBox = secretBox
  }

  async of(rows: readonly Row[]): Promise<Certificates> {
    const cache = this.#cache
    this.#cache = new Map()
    const found: Certificates = { usable: {}, problems: new Map() }
    let opens = 0
    for (const row of rows) {
      const cached = cache.get(row.hostname)
      const isSame = cached?.row.certificate === row.certificate && cached.row.privateKey === row.privateKey
      // Yields regularly, because after a start thousands may be new.
      if (!isSame && ++opens % opensPerYield === 0) await yieldToOthers()
      const opened = cached && isSame ? cached : { row, ...openCertificate(row, this.#secretBox) }
      this.#cache.set(row.hostname, opened)
      if ('pair' in opened) found.usable[row.hostname] = opened.pair
      else found.problems.set(row.hostname, opened.problem)
    }
    return found
  }
}
