import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type EngineReply,
  endlessReply,
  jsonReply,
  slowReply,
  startHostileEngine,
} from '../../../../../../tests/kit/hostile-engine.ts'
import { describeNeeding, partOf } from '../../../../../../tests/kit/machine.ts'
import { type Sshd, startSshd } from '../../../../../../tests/kit/sshd.ts'
import { linksTo } from '../../shell/ssh/test-server.ts'
import { maxMapEntries } from './plain-values.ts'
import { createServerReader } from './read-server.ts'

const neverAborted = new AbortController().signal
const idOf = (number: number) => number.toString(16).padStart(64, '0')
const listed = (count: number) => jsonReply(Array.from({ length: count }, (_, at) => ({ Id: idOf(at) })))

describeNeeding(['sshd'], 'a hostile server', () => {
  let sshd: Sshd
  beforeAll(async () => {
    sshd = await startSshd(partOf('sshd'))
  })
  afterAll(() => sshd?.[Symbol.asyncDispose]())
  const read = async (replies: Record<string, EngineReply>, abort = neverAborted) => {
    await using engine = await startHostileEngine(replies)
    const { links, link } = linksTo(sshd, engine.socket)
    try {
      return await createServerReader(link).readDocker(abort)
    } finally {
      await links.close()
    }
  }

  test.each([
    ['/version', 64],
    ['/containers/json', 1024],
  ])('an endless answer to %s is an error', async (path, kb) => {
    await expect(read({ [path]: endlessReply })).rejects.toMatchObject({
      name: 'ServerUnreachable',
      message: expect.stringContaining(`longer than ${kb} KB`),
    })
  })

  test.each(['/volumes', '/networks'])(
    'an endless answer to %s is skipped with a warning, and the rest is read',
    async (path) => {
      const { version, warnings } = await read({ [path]: endlessReply })
      expect([version, warnings]).toEqual(['99.1', [expect.stringContaining(`The ${path.slice(1)} are skipped`)]])
    },
  )

  test('an answer that never ends is ended by the time limit of the caller', async () => {
    await expect(read({ '/version': slowReply }, AbortSignal.timeout(700))).rejects.toMatchObject({ name: 'TimeoutError' })
  })

  test('the fields of many containers are truncated to their limits', async () => {
    const env = Array.from({ length: 23_000 }, () => 'A')
    const { containers } = await read({
      '/containers/json': listed(3),
      '/containers/:id/json': jsonReply({
        Id: idOf(1),
        Config: { Env: env, Labels: 7, Cmd: 'sh -c' },
        HostConfig: [],
        Mounts: {},
      }),
    })
    expect(containers).toHaveLength(3)
    expect(containers[0]).toMatchObject({ labels: {}, command: null, mounts: [] })
    expect(containers[0]?.env.length).toBeLessThan(env.length)
  })

  test('only the first labels are kept, and those of Compose at any position', async () => {
    const many = Object.fromEntries(Array.from({ length: 2_500 }, (_, at) => [`label ${at}`, 'x']))
    const labels = { ...many, 'com.docker.compose.project': 'shop', 'berth.instance': 'ours' }
    const { containers } = await read({
      '/containers/json': listed(1),
      '/containers/:id/json': jsonReply({ Id: idOf(0), Config: { Labels: labels } }),
    })
    const kept = containers[0]?.labels
    expect(kept).toMatchObject({ 'label 0': 'x', 'com.docker.compose.project': 'shop', 'berth.instance': 'ours' })
    expect(Object.keys(kept ?? {})).toHaveLength(maxMapEntries + 2)
  })

  test('the total size of all answers is limited; further containers are skipped with a warning', async () => {
    const { containers, warnings } = await read({
      '/containers/json': listed(80),
      '/containers/:id/json': jsonReply({ Id: idOf(1), Config: { Labels: { huge: 'x'.repeat(90 * 1024) } } }),
    })
    expect(containers.length).toBeLessThan(80)
    expect(warnings).toContainEqual(expect.stringContaining(`${80 - containers.length} of 80 containers are skipped`))
  })

  test('unused fields of an answer do not count towards the limit', async () => {
    const { containers, warnings } = await read({
      '/containers/json': listed(80),
      '/containers/:id/json': jsonReply({ Id: idOf(1), GraphDriver: { Data: 'x'.repeat(90 * 1024) } }),
    })
    expect([containers.length, warnings]).toEqual([80, []])
  })

  test('an invalid container id is never requested', async () => {
    await using engine = await startHostileEngine({
      '/containers/json': jsonReply([{ Id: '../../secrets' }, { Id: `${idOf(1)}/archive?path=/` }, { Id: 5 }, null]),
    })
    const { links, link } = linksTo(sshd, engine.socket)
    expect((await createServerReader(link).readDocker(neverAborted)).containers).toEqual([])
    expect(engine.requested.sort()).toEqual(['/containers/json', '/networks', '/version', '/volumes'])
    await links.close()
  })

  test('a reconnection to a host with another key during a read is refused, and nothing is sent', async () => {
    await using other = await startSshd(partOf('sshd'))
    const before = await other.fingerprint()
    let swapped: Promise<void> | undefined
    await using engine = await startHostileEngine({
      '/networks': () => {
        swapped = other.swapHostKey()
      },
    })
    const { links, link } = linksTo(other, engine.socket)
    const reader = createServerReader(link)
    await expect(reader.readDocker(neverAborted)).rejects.toMatchObject({ name: 'ServerUnreachable' })
    await swapped
    const requested = engine.requested.length
    link.retry()
    await expect(reader.files.read('/etc/hostname', 1000, neverAborted)).rejects.toMatchObject({
      reason: 'host_key_changed',
      message: expect.stringContaining(before),
    })
    expect(engine.requested).toHaveLength(requested)
    expect(other.log().slice(other.log().lastIndexOf('Server listening'))).not.toMatch(/Accepted|Postponed|Failed/)
    await links.close()
  })
})
