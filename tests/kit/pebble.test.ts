import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import acme from 'acme-client'
import { expect, test } from 'vitest'
import { serve } from './http-server.ts'
import { need } from './machine.ts'
import { startPebble } from './pebble.ts'

test('the test authority issues a certificate after it received the http-01 answer, and its root verifies the chain', async () => {
  const programs = { pebble: need('pebble'), challtestsrv: need('challtestsrv') }
  const answers = new Map<string, string>()
  await using edge = await serve((request, response) => {
    const answer = answers.get(request.url!.split('/').at(-1)!)
    response.writeHead(answer ? 200 : 404).end(answer)
  })
  await using pebble = await startPebble({ ...programs, httpPort: Number(new URL(edge.url).port) })
  acme.axios.defaults.httpsAgent = new Agent({ ca: await readFile(pebble.caFile) })
  const client = new acme.Client({ directoryUrl: pebble.directoryUrl, accountKey: await acme.crypto.createPrivateEcdsaKey() })
  const [, csr] = await acme.crypto.createCsr({ commonName: 'shop.example.test', altNames: ['shop.example.test'] })
  const chain = await client.auto({
    csr,
    termsOfServiceAgreed: true,
    skipChallengeVerification: true,
    challengePriority: ['http-01'],
    challengeCreateFn: async (_authorization, challenge, answer) => void answers.set(challenge.token, answer),
    challengeRemoveFn: async () => {},
  })
  expect(new X509Certificate(chain).subjectAltName).toBe('DNS:shop.example.test')
  const [, intermediate] = chain.split(/(?<=-----END CERTIFICATE-----)\s*/)
  const root = new X509Certificate(await pebble.rootCertificate())
  expect(new X509Certificate(intermediate!).verify(root.publicKey)).toBe(true)
})
