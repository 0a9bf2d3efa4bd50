import { readFile } from 'node:fs/promises'

export interface NginxUser {
  name: string
  uid: number
  gid: number
}

/** Users that the nginx packages of distributions create for its workers. */
const names = ['www-data', 'nginx', 'http']

/** The user of the workers if Berth runs as root; null: nginx cannot change its user, and runs as that of Berth. */
export async function workerUser(): Promise<NginxUser | null> {
  if (process.getuid?.() !== 0) return null
  const entries = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  for (const name of names) {
    const [, , uid, gid] = entries.find(([entry]) => entry === name) ?? []
    if (uid !== undefined && gid !== undefined && Number(uid) > 0) return { name, uid: Number(uid), gid: Number(gid) }
  }
  throw new Error(`nginx needs an unprivileged user for its workers. Create one named ${names[0]}.`)
}
