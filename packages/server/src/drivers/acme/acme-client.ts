import { Secret } from '../../secrets/secret.ts'
import { type Acme, OrderRefused } from './acme.ts'

/** Any directory that speaks RFC 8555. The library is loaded when the first certificate is wanted. */
export function createAcme({ directoryUrl, email }: { directoryUrl: string; email: string | null }): Acme {
  const load = () => import('acme-client')
  return {
    async newAccountKey() {
      const { crypto } = await load()
      return new Secret((await crypto.createPrivateEcdsaKey()).toString())
    },
    async order(hostname, { privateKey, accountUrl }, board) {
      const { Client, crypto } = await load()
      const client = new Client({
        directoryUrl,
        accountKey: privateKey.reveal(),
        ...(accountUrl ? { accountUrl } : {}),
        backoffAttempts: 8,
      })
      const [key, csr] = await crypto.createCsr({ altNames: [hostname] }, await crypto.createPrivateEcdsaKey())
      try {
        const certificate = await client.auto({
          csr,
          ...(email ? { email } : {}),
          termsOfServiceAgreed: true,
          challengePriority: ['http-01'],
          skipChallengeVerification: true,
          challengeCreateFn: (_authorization, { token }, keyAuthorization) => board.show(token, keyAuthorization),
          challengeRemoveFn: (_authorization, { token }) => board.hide(token),
        })
        const { notAfter } = crypto.readCertificateInfo(certificate)
        return { certificate, privateKey: new Secret(key.toString()), expiresAt: notAfter, accountUrl: client.getAccountUrl() }
      } catch (error) {
        throw new OrderRefused(reasonOf(error), { cause: error })
      }
    },
  }
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error)).slice(0, 500)
