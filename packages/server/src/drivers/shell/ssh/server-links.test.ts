import { chmod, mkdir, rename, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeNeeding, need, partOf } from '../../../../../../tests/kit/machine.ts'
import { type Sshd, startSshd } from '../../../../../../tests/kit/sshd.ts'
import { type TempFolder, tempFolder } from '../../../../../../tests/kit/temp-folder.ts'
import { Secret } from '../../../platform/secrets/secret.ts'
import { makeKeyPair } from '../test-ssh-server.ts'
import type { ServerUnreachable } from './server-unreachable.ts'
import { linksTo } from './test-server.ts'

const neverAborted = new AbortController().signal

async function ping(stream: Duplex): Promise<string> {
  stream.write('GET /_ping HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\r\n')
  let output = ''
  for await (const chunk of stream) output += chunk
  return output.split('\r\n', 1)[0] as string
}
const why = (work: Promise<unknown>): Promise<ServerUnreachable> =>
  work.then(
    () => expect.fail('it should have failed'),
    (error) => error,
  )

describeNeeding(['sshd', 'docker'], 'a link to a server', () => {
  let sshd: Sshd
  let folder: TempFolder
  beforeAll(async () => {
    sshd = await startSshd(partOf('sshd'), { forAllUsers: true })
    folder = await tempFolder('server-link')
  })
  afterAll(async () => {
    await sshd?.[Symbol.asyncDispose]()
    await folder?.remove()
  })
  const connect = (changes: Parameters<typeof linksTo>[2] = {}, socket = partOf('docker')) => linksTo(sshd, socket, changes)

  test('many streams to Docker use one connection, which is closed with the links', async () => {
    const { links, link } = connect()
    const answers = await Promise.all(Array.from({ length: 40 }, async () => ping(await link.toDocker(neverAborted))))
    expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 200 OK']))
    expect(links.openConnections()).toBe(1)
    await links.close()
    await expect.poll(() => links.openConnections()).toBe(0)
  })

  test('without socket forwarding, streams use docker commands, over more connections as needed', async () => {
    await using strict = await startSshd(need('sshd'), { config: ['AllowStreamLocalForwarding no', 'MaxSessions 10'] })
    const { links, link } = linksTo(strict, partOf('docker'))
    const streams = await Promise.all(Array.from({ length: 12 }, () => link.toDocker(neverAborted)))
    expect(links.openConnections()).toBe(2)
    expect(new Set(await Promise.all(streams.map(ping)))).toEqual(new Set(['HTTP/1.1 200 OK']))
    await links.close()
    await expect.poll(() => links.openConnections()).toBe(0)
  })

  test('a port of the server is reachable', async () => {
    const server = createServer((_request, response) => response.end('there'))
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const { links, link } = connect()
    const stream = await link.toPort((server.address() as AddressInfo).port, neverAborted)
    expect(await ping(stream)).toContain('200')
    await links.close()
    server.close()
  })

  describe('each reason has its own error', () => {
    test('no process listens there', async () => {
      await using away = await startSshd(need('sshd'))
      await away.stop()
      const { links, link } = linksTo(away, partOf('docker'))
      expect(await why(link.toDocker(neverAborted))).toMatchObject({
        reason: 'unreachable',
        message: expect.stringContaining('connection refused'),
      })
      await away.start()
      // The server is known to be unreachable: the next call is rejected without a connection until a pause has passed or
      // `retry` is called.
      expect(await why(link.toDocker(neverAborted))).toMatchObject({ reason: 'unreachable' })
      link.retry()
      expect(await ping(await link.toDocker(neverAborted))).toContain('200')
      await links.close()
    })

    test('a wrong key, a wrong password and no credential', async () => {
      const credentials = [{ privateKey: new Secret(makeKeyPair().privateKey) }, { password: new Secret('wrong') }, null]
      for (const credential of credentials) {
        const { links, link } = connect({ credential })
        expect(await why(link.toDocker(neverAborted))).toMatchObject({ name: 'ServerUnreachable', reason: 'login_refused' })
        await links.close()
      }
    })

    test('a changed host key: both are named, and the credential is not sent', async () => {
      await using swapped = await startSshd(need('sshd'))
      const { links, link } = linksTo(swapped, partOf('docker'))
      await ping(await link.toDocker(neverAborted))
      const before = await swapped.fingerprint()
      await swapped.swapHostKey()
      await expect.poll(() => links.openConnections()).toBe(0)
      const logBefore = swapped.log().length
      const error = await why(link.toDocker(neverAborted))
      expect(error.reason).toBe('host_key_changed')
      expect(error.message).toContain(before)
      expect(error.message).toContain(await swapped.fingerprint())
      expect(swapped.log().slice(logBefore)).not.toMatch(/Accepted|Postponed|Failed publickey/)
      await links.close()
    })

    test('Docker is not running: no socket, or one that does not respond', async () => {
      const { links, link } = connect({}, join(folder.path, 'nowhere.sock'))
      expect(await why(link.toDocker(neverAborted))).toMatchObject({
        reason: 'docker_not_running',
        message: expect.stringContaining('does not exist'),
      })
      await links.close()
      // A socket whose listening process has exited.
      const dead = createTcpServer()
      await new Promise<void>((done) => dead.listen(join(folder.path, 'first.sock'), done))
      await rename(join(folder.path, 'first.sock'), join(folder.path, 'dead.sock'))
      await new Promise((done) => dead.close(done))
      const other = connect({}, join(folder.path, 'dead.sock'))
      expect(await why(other.link.toDocker(neverAborted))).toMatchObject({
        reason: 'docker_not_running',
        message: expect.stringContaining('does not respond'),
      })
      await other.links.close()
    })

    test('the user has no access to the socket', async ({ skip }) => {
      if (process.getuid?.() !== 0) skip('only root can let another user in')
      const { links, link } = connect({ user: 'nobody' })
      expect(await why(link.toDocker(neverAborted))).toMatchObject({
        reason: 'docker_denied',
        message: expect.stringContaining('group'),
      })
      await links.close()
    })

    test('an unknown server', async () => {
      const { links } = connect()
      expect(await why(links.for('srv_other').toDocker(neverAborted))).toMatchObject({ reason: 'unknown_server' })
    })

    test('a peer that never answers: an abort ends the call at once', async () => {
      const silent = createTcpServer(() => undefined)
      await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done))
      const { links, link } = connect({ port: (silent.address() as AddressInfo).port })
      await expect(link.toDocker(AbortSignal.timeout(300))).rejects.toMatchObject({ name: 'TimeoutError' })
      await links.close()
      silent.close()
    })
  })

  describe('a lost connection', () => {
    test('is counted, and the next call reconnects and reports it', async () => {
      await using cut = await startSshd(need('sshd'))
      const { links, link } = linksTo(cut, partOf('docker'))
      const back: string[] = []
      links.onReconnect((id) => back.push(id))
      const stream = await link.toDocker(neverAborted)
      const closed = new Promise((resolve) => stream.resume().once('close', resolve))
      await cut.stop()
      await closed
      expect(link.disconnects()).toBe(1)
      await cut.start()
      expect(await ping(await link.toDocker(neverAborted))).toContain('200')
      expect(back).toEqual(['srv'])
      await links.close()
    })
  })

  describe('files of the server', () => {
    test('are read up to a limit, and only regular files are opened', async () => {
      const { links, link } = connect()
      const content = Buffer.alloc(700_000, 'berth ')
      await writeFile(join(folder.path, 'compose.yaml'), content)
      expect((await link.files.read(join(folder.path, 'compose.yaml'), 1_000_000, neverAborted)).equals(content)).toBe(true)
      await expect(link.files.read(join(folder.path, 'compose.yaml'), 699_999, neverAborted)).rejects.toMatchObject({
        errorKind: 'too_large',
      })
      await expect(link.files.read(join(folder.path, 'none'), 10, neverAborted)).rejects.toMatchObject({ errorKind: 'missing' })
      for (const path of ['/dev/zero', folder.path])
        await expect(link.files.read(path, 10_000, neverAborted)).rejects.toMatchObject({ errorKind: 'not_a_file' })
      expect(await link.files.list(folder.path, 10, neverAborted)).toContain('compose.yaml')
      await links.close()
    })

    test('that the user may not read are reported as such', async ({ skip }) => {
      if (process.getuid?.() !== 0) skip('only root can let another user in')
      await mkdir(join(folder.path, 'closed'))
      await writeFile(join(folder.path, 'closed', '.env'), 'A=b')
      await chmod(join(folder.path, 'closed', '.env'), 0o600)
      await chmod(folder.path, 0o755)
      const { links, link } = connect({ user: 'nobody' })
      await expect(link.files.read(join(folder.path, 'closed', '.env'), 100, neverAborted)).rejects.toMatchObject({
        errorKind: 'denied',
      })
      await links.close()
    })
  })
})
