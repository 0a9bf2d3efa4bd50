import { setTimeout as pause } from 'node:timers/promises'
import { type DnsChallenge, DnsProviderFailed, recordTtl } from './dns-challenge.ts'
import { JsonProvider, noZone, type ProviderSettings, relativeName, zoneCandidates } from './provider-call.ts'

interface RecordSet {
  rrset: { records: { value: string }[] }
}

interface Started {
  action: { id: number; status: 'running' | 'success' | 'error'; error?: { message?: string } | null }
}

const pollMs = 500
const maxPolls = 120

/** DNS zones in the Hetzner Console, over the Cloud API v1, with a token of the project that owns the zone. */
export function createHetzner(settings: ProviderSettings): DnsChallenge {
  const api = new JsonProvider('Hetzner', 'https://api.hetzner.cloud/v1', settings)
  const zoneOf = async (name: string, abort: AbortSignal): Promise<string> => {
    for (const zone of zoneCandidates(name))
      if (await api.call('GET', `/zones/${encodeURIComponent(zone)}`, abort, { expected: [404] })) return zone
    throw noZone('Hetzner', name)
  }
  /** Record sets are changed in the background: the change can fail after the call was accepted. */
  const waitForAction = async (started: Started | null, abort: AbortSignal): Promise<void> => {
    let action = started?.action
    for (let poll = 0; action?.status === 'running' && poll < maxPolls; poll++) {
      await pause(pollMs, undefined, { signal: abort })
      action = (await api.call<Started>('GET', `/actions/${action.id}`, abort))?.action
    }
    if (action?.status === 'success') return
    throw new DnsProviderFailed(`Hetzner did not change the record: ${action?.error?.message ?? 'the action did not finish'}`)
  }
  const change = async (verb: 'add' | 'remove', name: string, value: string, abort: AbortSignal): Promise<void> => {
    const zone = await zoneOf(name, abort)
    const path = `/zones/${zone}/rrsets/${encodeURIComponent(relativeName(name, zone))}/TXT`
    const found = await api.call<RecordSet>('GET', path, abort, { expected: [404] })
    const exists = found?.rrset.records.some((record) => record.value === `"${value}"`) ?? false
    if (exists === (verb === 'add')) return
    const body = { records: [{ value: `"${value}"` }], ...(verb === 'add' ? { ttl: recordTtl } : {}) }
    await waitForAction(await api.call<Started>('POST', `${path}/actions/${verb}_records`, abort, { body }), abort)
  }
  return {
    present: (name, value, abort) => change('add', name, value, abort),
    remove: (name, value, abort) => change('remove', name, value, abort),
  }
}
