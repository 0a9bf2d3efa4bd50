import { expect, test } from 'vitest'
import { serve } from '../../../../../../tests/kit/http-server.ts'
import { createGitHub } from './github.ts'

test('a conversion ends within its time limit when GitHub does not answer, and is sent once', async () => {
  const paths: string[] = []
  const server = await serve(({ method, url }) => void paths.push(`${method} ${url}`))
  try {
    const noApp = { appId: null, privateKey: null, appSlug: null, clientId: null, clientSecret: null }
    const { manifests } = createGitHub({ apiUrl: server.url, webUrl: server.url, ...noApp })
    const converting = manifests!.convert('the-code', { timeoutMs: 1_500 })
    await expect(converting).rejects.toMatchObject({ errorKind: 'timed_out' })
    expect(paths).toEqual(['POST /app-manifests/the-code/conversions'])
  } finally {
    await server.close()
  }
})
