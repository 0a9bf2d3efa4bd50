import { createPrivateKey } from 'node:crypto'
import { Secret } from '../../../platform/secrets/secret.ts'
import { invalidResponse } from '../answer-parts.ts'
import type { AppManifests, CreatedApp } from '../git-host.ts'
import { Fields } from '../payload.ts'
import type { GitHubClient } from './github-client.ts'

/** GitHub Apps that are created from a manifest: the browser sends the manifest, and the server exchanges the returned code. */
export const createManifests = (client: GitHubClient): AppManifests => ({
  registrationUrl(organization, state) {
    const { webUrl } = client.settings
    const path =
      organization === null ? '/settings/apps/new' : `/organizations/${encodeURIComponent(organization)}/settings/apps/new`
    return `${webUrl}${path}?state=${encodeURIComponent(state)}`
  },
  convert: (code, limits) =>
    client.request('anonymous', limits, async (octokit, signal) => {
      const { data } = await octokit.request('POST /app-manifests/{code}/conversions', {
        code,
        // A code is accepted once: a repeated request would fail and hide the first response.
        request: { signal, retries: 0 },
      })
      return appFrom(data, client.title)
    }),
})

function appFrom(value: unknown, title: string): CreatedApp {
  const fields = new Fields(value)
  const [id, slug, clientId] = [fields.integer('id'), fields.text('slug'), fields.text('client_id')]
  const [clientSecret, privateKey] = [fields.text('client_secret'), fields.text('pem')]
  const webhookSecret = fields.text('webhook_secret')
  const isComplete =
    id !== null && id > 0 && isSlug(slug) && isPrintable(clientId, 200) && isPrintable(clientSecret, 400) && isRsaKey(privateKey)
  if (!isComplete || (webhookSecret !== null && !isPrintable(webhookSecret, 400))) return invalidResponse(title, 'a new app')
  return {
    id,
    slug,
    clientId,
    clientSecret: new Secret(clientSecret),
    privateKey: new Secret(privateKey),
    webhookSecret: webhookSecret === null ? null : new Secret(webhookSecret),
  }
}

const isSlug = (text: string | null): text is string => text !== null && /^[A-Za-z0-9][A-Za-z0-9-]{0,99}$/.test(text)

const isPrintable = (text: string | null, maxLength: number): text is string =>
  text !== null && text.length > 0 && text.length <= maxLength && /^[\x21-\x7e]+$/.test(text)

/** App tokens are signed with RS256, so only an RSA key is usable. */
function isRsaKey(text: string | null): text is string {
  if (text === null || text.length > 20_000) return false
  try {
    return createPrivateKey(text).asymmetricKeyType === 'rsa'
  } catch {
    return false
  }
}
