import { createHmac, randomBytes } from 'node:crypto'

/** The `berth-signature` header. The time is part of the signed text, so that a receiver can detect a replay. */
export function signatureOf(secret: string, body: string, at: Date): string {
  const t = Math.floor(at.getTime() / 1000)
  return `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`
}

export const newSigningSecret = () => `bws_${randomBytes(32).toString('base64url')}`
