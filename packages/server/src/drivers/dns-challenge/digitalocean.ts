import { type DnsChallenge, recordTtl } from './dns-challenge.ts'
import { JsonProvider, noZone, type ProviderSettings, relativeName, zoneCandidates } from './provider-call.ts'

interface Records {
  domain_records: { id: number; data: string }[]
}

/** DigitalOcean's API v2, with a token that may read and write domains. */
export function createDigitalOcean(settings: ProviderSettings): DnsChallenge {
  const api = new JsonProvider('DigitalOcean', 'https://api.digitalocean.com/v2', settings)
  const zoneOf = async (name: string, abort: AbortSignal): Promise<string> => {
    for (const zone of zoneCandidates(name))
      if (await api.call('GET', `/domains/${encodeURIComponent(zone)}`, abort, { expected: [404] })) return zone
    throw noZone('DigitalOcean', name)
  }
  const recordsOf = async (zone: string, name: string, value: string, abort: AbortSignal): Promise<number[]> => {
    const path = `/domains/${zone}/records?type=TXT&name=${encodeURIComponent(name)}&per_page=200`
    const { domain_records } = (await api.call<Records>('GET', path, abort))!
    return domain_records.filter(({ data }) => data === value).map(({ id }) => id)
  }
  return {
    async present(name, value, abort) {
      const zone = await zoneOf(name, abort)
      if ((await recordsOf(zone, name, value, abort)).length > 0) return
      const body = { type: 'TXT', name: relativeName(name, zone), data: value, ttl: recordTtl }
      await api.call('POST', `/domains/${zone}/records`, abort, { body })
    },
    async remove(name, value, abort) {
      const zone = await zoneOf(name, abort)
      for (const id of await recordsOf(zone, name, value, abort))
        await api.call('DELETE', `/domains/${zone}/records/${id}`, abort, { expected: [404] })
    },
  }
}
