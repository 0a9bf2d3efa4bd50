import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeNeeding, partOf } from '../../../../../tests/kit/machine.ts'
import { type Sshd, startSshd } from '../../../../../tests/kit/sshd.ts'
import { type TempFolder, tempFolder } from '../../../../../tests/kit/temp-folder.ts'
import { silentLog } from '../../platform/log.ts'
import { Secret } from '../../platform/secrets/secret.ts'
import type { SftpConfig } from './archive-store.ts'
import { createArchiveStores } from './create-archive-stores.ts'
import { fingerprintOf } from './sftp-link.ts'
import { archiveStoreSuite, chunksOf, namesIn, neverAborted, readAll } from './suite.ts'

const stores = createArchiveStores({ log: silentLog, allowPrivate: true, firstPauseMs: 1 })

describeNeeding(['sshd'], 'an sftp destination', () => {
  let sshd: Sshd
  let folder: TempFolder
  let config: SftpConfig
  beforeAll(async () => {
    folder = await tempFolder('sftp')
    sshd = await startSshd(partOf('sshd'))
    const { host, port, user, privateKey } = sshd
    const hostKey = await stores.hostKeyOf({ ...{ host, port }, allowsLocalAddress: true }, neverAborted)
    config = {
      kind: 'sftp',
      allowsLocalAddress: true,
      host,
      port,
      user,
      path: join(folder.path, 'made/here/'),
      privateKey: new Secret(privateKey),
      hostKey,
    }
  })
  afterAll(async () => {
    await sshd[Symbol.asyncDispose]()
    await folder.remove()
  })

  archiveStoreSuite(async () => ({ store: await stores.open(config), cleanUp: async () => undefined }))

  const failureOf = async (changed: Partial<SftpConfig>) => {
    const store = await stores.open({ ...config, ...changed })
    return store
      .check(neverAborted)
      .then(
        () => 'it passed',
        (error: Error & { reason?: string }) => `${error.reason}: ${error.message}`,
      )
      .finally(() => store.close())
  }

  test('the host key is read without a login and equals that of ssh-keygen', async () => {
    expect(await stores.hostKeyOf(config, neverAborted)).toBe(await sshd.fingerprint())
    expect(fingerprintOf(' SHA256:abc= ')).toBe('SHA256:abc')
    expect(fingerprintOf('host ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAA comment')).toMatch(/^SHA256:[\w+/]{43}$/)
  })

  test('a failed check reports the reason', async () => {
    expect(await failureOf({ hostKey: 'SHA256:other' })).toMatch(/^denied: .* has the host key SHA256:.* instead of SHA256:other/)
    expect(await failureOf({ user: 'no-such-user' })).toMatch(/^denied: .* refused the login of no-such-user/)
    expect(await failureOf({ port: 9 })).toMatch(/^unreachable: .*connection refused/)
    expect(await failureOf({ path: '/proc/berth' })).toMatch(/^(denied|other|missing): /)
  })

  test('a lost connection is opened again, and a host with another key gets no data', async () => {
    const store = await stores.open(config)
    await store.put('kept', chunksOf(Buffer.from('kept')), neverAborted)
    await sshd.stop()
    await expect(store.size('kept', neverAborted)).rejects.toMatchObject({ reason: 'unreachable' })
    await sshd.start()
    expect(String(await readAll(store.get('kept', neverAborted)))).toBe('kept')
    await store.remove('kept', neverAborted)
    await store.close()
    const before = await sshd.fingerprint()
    await sshd.swapHostKey()
    expect(await failureOf({})).toContain(`instead of ${before}`)
    config = { ...config, hostKey: await sshd.fingerprint() }
  })

  test('an old file of a killed put is removed', async () => {
    const store = await stores.open(config)
    const drafts = join(folder.path, 'made/here/.unfinished')
    await mkdir(drafts, { recursive: true })
    for (const name of ['old', 'young']) await writeFile(join(drafts, name), 'half')
    const hourAgo = new Date(Date.now() - 3_600_000)
    await utimes(join(drafts, 'old'), hourAgo, hourAgo)
    expect(await store.removeUnfinished(new Date(Date.now() - 60_000), neverAborted)).toBe(1)
    expect(await readdir(drafts)).toEqual(['young'])
    expect(await namesIn(store, '')).toEqual([])
    await store.close()
  })

  test('on an instance with untrusted users, an internal host is refused before connecting', async () => {
    const guarded = createArchiveStores({ log: silentLog, allowPrivate: false, attempts: 1 })
    const store = await guarded.open(config)
    await expect(store.check(neverAborted)).rejects.toMatchObject({ reason: 'denied' })
    await expect(
      guarded.hostKeyOf({ host: 'localhost', port: sshd.port, allowsLocalAddress: true }, neverAborted),
    ).rejects.toMatchObject({
      reason: 'denied',
    })
  })
})
