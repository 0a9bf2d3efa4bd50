import { afterEach, describe, expect, test } from 'vitest'
import { hours, minutes } from '../notifications/scene.ts'
import { begin, dns, end, name, proofOf, publish, scene, settled } from './claims-scene.ts'

afterEach(end)

const server = '203.0.113.7'
const settings = { BERTH_BASE_DOMAIN: 'apps.example.test', BERTH_EDGE_TLS_PORT: '' }

describe('the address of a connected domain', () => {
  test('verify names the missing record: the TXT record, the address, or both', async () => {
    const { ours } = await begin(settings)
    const target = `${ours.project.slug}.apps.example.test`
    dns.addressRecords.set(target, [server])
    const proof = proofOf(await ours.connect())
    await settled()
    const neither = await ours.verify()
    expect(neither).toMatchObject({ verified: false, pointsHere: false, state: 'waiting' })
    expect(neither.reason).toContain(`create the TXT record ${proof.name}`)
    expect(neither.reason).toContain(`${name} does not resolve yet: create the CNAME record ${name} with the value ${target}`)

    dns.addressRecords.set(name, [server])
    const noProof = await ours.verify()
    expect(noProof).toMatchObject({ verified: false, pointsHere: true, reason: expect.stringContaining(proof.name) })
    expect(noProof.reason).not.toContain('CNAME')

    publish(proof)
    dns.addressRecords.set(name, ['93.184.216.34', '10.0.0.9'])
    const elsewhere = await ours.verify()
    // A wrong address blocks nothing: a proxy may answer there.
    expect(elsewhere).toMatchObject({ verified: true, pointsHere: false, state: 'active' })
    expect(elsewhere.reason).toMatch(
      /resolves to 93\.184\.216\.34, not to this server: create the CNAME record .*, unless a proxy/,
    )

    dns.addressRecords.set(name, ['10.0.0.9'])
    expect((await ours.verify()).reason).toContain(`${name} resolves to a private address, not to this server`)

    dns.addressRecords.set(name, [server])
    expect(await ours.verify()).toMatchObject({ verified: true, pointsHere: true, state: 'active', reason: null })
  })

  test('is checked again until it points to this instance; without an answer the last result stays', async () => {
    const { ours } = await begin({ ...settings, BERTH_PUBLIC_ADDRESS: `${server},2001:db8::7` })
    const pointsHere = async () => {
      const { pointsHere, nextCheckAt } = await scene.database.db
        .selectFrom('domains')
        .select(['pointsHere', 'nextCheckAt'])
        .where('hostname', '=', name)
        .executeTakeFirstOrThrow()
      return [pointsHere, nextCheckAt !== null]
    }
    publish(proofOf(await ours.connect()))
    await settled()
    await ours.verify()
    expect(await pointsHere()).toEqual([0, true])
    dns.isUnreachable = true
    await ours.verify()
    expect(await pointsHere()).toEqual([0, true])
    dns.isUnreachable = false
    dns.addressRecords.set(name, ['2001:db8:0:0:0:0:0:7'])
    await scene.pass(6 * hours + 2 * minutes)
    await expect.poll(pointsHere).toEqual([1, false])
  })

  test('is not reported by an instance that does not know its own address', async () => {
    const { ours } = await begin(settings)
    dns.addressRecords.set(name, ['198.51.100.4'])
    await ours.connect()
    await settled()
    const shown = await ours.verify()
    expect(shown.pointsHere).toBeNull()
    expect(shown.reason).not.toContain('resolve')
  })
})
