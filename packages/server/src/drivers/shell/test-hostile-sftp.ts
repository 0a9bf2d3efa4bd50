import type { AddressInfo } from 'node:net'
import ssh2, { type Connection } from 'ssh2'
import { makeKeyPair } from './test-ssh-server.ts'

/** Test support: an SFTP server on loopback that accepts every login and returns arbitrary listings. */
export interface HostileSftp {
  port: number
  /** Names of a folder at the n-th call since it was opened; a trailing slash makes a folder, null ends the listing. */
  answer: (path: string, call: number) => string[] | null
  /** Calls in order: `readdir /srv/a`, `remove /srv/a/b`. */
  calls: string[]
  close(): Promise<void>
}

const { STATUS_CODE } = ssh2.utils.sftp

export async function startHostileSftp(): Promise<HostileSftp> {
  const connections = new Set<Connection>()
  const server = new ssh2.Server({ hostKeys: [makeKeyPair().privateKey] }, (client) => {
    connections.add(client)
    client.on('close', () => connections.delete(client)).on('error', () => undefined)
    client.on('authentication', (login) => login.accept())
    client.on('ready', () => client.on('session', (accept) => accept().on('sftp', (take) => serveFiles(take(), hostile))))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const hostile: HostileSftp = {
    port: (server.address() as AddressInfo).port,
    answer: () => null,
    calls: [],
    close: () => {
      for (const client of connections) client.end()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
  return hostile
}

type Sftp = import('ssh2').SFTPWrapper

function serveFiles(sftp: Sftp, hostile: HostileSftp): void {
  const open: { path: string; call: number }[] = []
  sftp.on('OPENDIR', (id, path) => {
    const handle = Buffer.alloc(4)
    handle.writeUInt32BE(open.push({ path, call: 0 }) - 1)
    sftp.handle(id, handle)
  })
  sftp.on('READDIR', (id, handle) => {
    const folder = open[handle.readUInt32BE()]!
    hostile.calls.push(`readdir ${folder.path}`)
    const names = hostile.answer(folder.path, folder.call)
    folder.call += 1
    if (names === null) return void sftp.status(id, STATUS_CODE.EOF)
    sftp.name(
      id,
      names.map((name) => {
        const isFolder = name.endsWith('/')
        const attrs = { mode: isFolder ? 0o040755 : 0o100644, uid: 0, gid: 0, size: 1, atime: 1, mtime: 1 }
        return { filename: isFolder ? name.slice(0, -1) : name, longname: name, attrs }
      }),
    )
  })
  sftp.on('REMOVE', (id, path) => {
    hostile.calls.push(`remove ${path}`)
    sftp.status(id, STATUS_CODE.OK)
  })
  sftp.on('CLOSE', (id) => sftp.status(id, STATUS_CODE.OK))
  for (const call of ['LSTAT', 'STAT', 'REALPATH', 'RMDIR', 'MKDIR'] as const)
    sftp.on(call as 'STAT', (id: number) => sftp.status(id, STATUS_CODE.NO_SUCH_FILE))
}
