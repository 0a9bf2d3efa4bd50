// gate: also on PostgreSQL, since two requests remove one domain at once
import { afterEach, describe, expect, test } from 'vitest'
import { days } from '../notifications/scene.ts'
import { authority, begin, dns, end, name, proofOf, publish, scene, servedAt, settled } from './claims-scene.ts'

afterEach(end)

describe('POST /projects/:id/domains/:hostname/verify', () => {
  test.each(['self-hosted', 'cloud'])(
    '%s: queries the record at once; a verified domain is the url of the project',
    async (mode) => {
      const { ours } = await begin({ BERTH_MODE: mode })
      const proof = proofOf(await ours.connect())
      await settled()
      const free = await ours.url()
      expect(await ours.verify()).toMatchObject({
        ...{ hostname: name, kind: 'custom', primary: true, verified: false, state: 'waiting' },
        reason: expect.stringContaining(`the TXT record ${proof.name} with the value ${proof.value}`),
      })
      expect(await ours.url()).toBe(free)
      publish(proof)
      expect(await ours.verify()).toMatchObject({ verified: true, state: 'active', records: expect.arrayContaining([proof]) })
      await expect.poll(() => ours.url()).toBe(`https://${name}:4443`)
      expect(await ours.verify()).toMatchObject({ verified: true, state: 'active', tls: 'active', reason: null })
    },
  )

  test('reports that the name servers did not answer, and keeps the proof', async () => {
    const { ours } = await begin()
    const proof = proofOf(await ours.connect())
    await settled()
    dns.isUnreachable = true
    expect(await ours.verify()).toMatchObject({ verified: false, reason: expect.stringMatching(/name servers did not answer/) })
    dns.isUnreachable = false
    publish(proof)
    await ours.verify()
    dns.isUnreachable = true
    expect(await ours.verify()).toMatchObject({ verified: true, state: 'active' })
  })

  test('queries no other name of the project', async () => {
    const { ours } = await begin()
    await ours.connect('other.customer.test')
    await ours.connect()
    await settled()
    dns.queriedNames.length = 0
    await ours.verify()
    expect(dns.queriedNames).toEqual([`_berth.${name}`])
  })
})

describe('DELETE /projects/:id/domains/:hostname', () => {
  test('ends the route, and the certificate is not renewed and is deleted later', async () => {
    const { ours } = await begin()
    publish(proofOf(await ours.connect()))
    await expect.poll(async () => (await ours.verify()).tls).toBe('active')
    expect(authority.orders).toEqual([name])
    const free = `${ours.project.slug}.localhost`
    expect((await ours.remove()).status).toBe(204)
    expect(await ours.route()).toBeUndefined()
    expect(new URL(await ours.url()).hostname).toBe(free)
    await expect.poll(() => [servedAt(), servedAt(free)]).toEqual([undefined, ours.project.id])
    await settled()
    await scene.pass(61 * days)
    expect(authority.orders).toEqual([name])
    expect(await scene.database.db.selectFrom('certificates').select('hostname').execute()).toEqual([])
    expect(await ours.told()).toEqual([])
    expect((await ours.remove()).status).toBe(404)
  })

  test('self-hosted: the next claim gets the name, and the removed domain is later in line when added again', async () => {
    const { ours, theirs } = await begin()
    await ours.connect()
    await theirs.connect()
    await expect.poll(() => servedAt()).toBe(ours.project.id)
    await ours.remove()
    await expect.poll(() => servedAt()).toBe(theirs.project.id)
    await expect.poll(async () => (await theirs.route())?.tls).toBe('active')
    await ours.connect()
    await settled()
    await ours.retry()
    expect(servedAt()).toBe(theirs.project.id)
  })

  test('self-hosted: a claim that takes over during the order of the removed one gets its certificate', async () => {
    const { ours, theirs } = await begin()
    const issue = Promise.withResolvers<void>()
    authority.issuing = issue.promise
    await ours.connect()
    await expect.poll(() => authority.orders).toEqual([name])
    await theirs.connect()
    await ours.remove()
    await expect.poll(async () => (await theirs.route())?.tls).toBe('pending')
    issue.resolve()
    await expect.poll(async () => (await theirs.route())?.tls).toBe('active')
  })

  test('cloud: the other claim is proven at once, if its record exists', async () => {
    const { ours, theirs } = await begin({ BERTH_MODE: 'cloud' })
    const mine = await ours.connect()
    publish(proofOf(mine))
    await ours.verify()
    const second = await theirs.connect()
    publish(proofOf(mine), proofOf(second))
    expect(await theirs.verify()).toMatchObject({ verified: false, state: 'waiting' })
    expect(servedAt()).toBe(ours.project.id)
    await settled()
    await ours.remove()
    await settled()
    await expect.poll(() => servedAt()).toBe(theirs.project.id)
    expect(await theirs.verify()).toMatchObject({ verified: true, state: 'active' })
  })

  test('removing a claim that does not serve does not affect the one that does', async () => {
    const { ours, theirs } = await begin()
    publish(proofOf(await ours.connect()))
    await ours.verify()
    await theirs.connect()
    await theirs.remove()
    await settled()
    await ours.retry()
    expect(servedAt()).toBe(ours.project.id)
    expect(await ours.verify()).toMatchObject({ verified: true, state: 'active' })
  })

  test('two concurrent requests: one of them is 204', async () => {
    const { ours } = await begin()
    await ours.connect()
    const answers = await Promise.all([ours.remove(), ours.remove()])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 404])
  })
})
