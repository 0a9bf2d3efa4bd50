import { randomBytes } from 'node:crypto'
import type { Caller } from '../handler.ts'
import type { Dialect } from './revision.ts'
import type { McpSettings } from './settings.ts'

/**
 * Session ids of clients that send `initialize`. An id holds the client's capability and is signed for its token. It gives no
 * access: every request is authenticated by its token.
 */
export class Sessions {
  readonly #signer: McpSettings['signer']

  constructor({ signer }: Pick<McpSettings, 'signer'>) {
    this.#signer = signer
  }

  create(caller: Caller, canElicit: boolean): string {
    const fields = `${canElicit ? 'elicitation' : 'plain'}.${randomBytes(9).toString('base64url')}`
    return `${fields}.${this.#signer.sign(messageOf(caller, fields), purpose)}`
  }

  /** The session of an id; null if the id is not valid for this caller. A client without one cannot show questions. */
  read(caller: Caller, id: unknown): Dialect | null {
    if (id === undefined) return { isStateless: false, canElicit: false }
    const [, kind, nonce, signature] = /^(elicitation|plain)\.([\w-]+)\.(.+)$/.exec(String(id)) ?? []
    if (!signature || !this.#signer.isSigned(signature, messageOf(caller, `${kind}.${nonce}`), purpose)) return null
    return { isStateless: false, canElicit: kind === 'elicitation' }
  }
}

const purpose = 'mcp-session'
const messageOf = ({ tokenId }: Caller, fields: string): string => `${tokenId} ${fields}`
