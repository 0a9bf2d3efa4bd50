import { type DnsChallenge, recordTtl } from './dns-challenge.ts'
import { JsonProvider, noZone, type ProviderSettings, zoneCandidates } from './provider-call.ts'

interface Listed {
  result: { id: string; content?: string }[]
}

/** Cloudflare's API v4, with an API token that may read zones and edit DNS. */
export function createCloudflare(settings: ProviderSettings): DnsChallenge {
  const api = new JsonProvider('Cloudflare', 'https://api.cloudflare.com/client/v4', settings)
  const zoneOf = async (name: string, abort: AbortSignal): Promise<string> => {
    for (const zone of zoneCandidates(name)) {
      const found = await api.call<Listed>('GET', `/zones?name=${encodeURIComponent(zone)}`, abort)
      if (found?.result[0]) return found.result[0].id
    }
    throw noZone('Cloudflare', name)
  }
  const recordsOf = async (zoneId: string, name: string, value: string, abort: AbortSignal): Promise<string[]> => {
    const path = `/zones/${zoneId}/dns_records?type=TXT&name=${encodeURIComponent(name)}&per_page=100`
    const { result } = (await api.call<Listed>('GET', path, abort))!
    return result.filter(({ content }) => unquoted(content ?? '') === value).map(({ id }) => id)
  }
  return {
    async present(name, value, abort) {
      const zoneId = await zoneOf(name, abort)
      if ((await recordsOf(zoneId, name, value, abort)).length > 0) return
      // Cloudflare wants the content of a TXT record in quotes.
      const body = { type: 'TXT', name, content: `"${value}"`, ttl: recordTtl }
      await api.call('POST', `/zones/${zoneId}/dns_records`, abort, { body })
    },
    async remove(name, value, abort) {
      const zoneId = await zoneOf(name, abort)
      for (const id of await recordsOf(zoneId, name, value, abort))
        await api.call('DELETE', `/zones/${zoneId}/dns_records/${id}`, abort, { expected: [404] })
    },
  }
}

const unquoted = (content: string): string => content.replace(/^"(.*)"$/, '$1')
