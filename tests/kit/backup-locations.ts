import { join } from 'node:path'
import type { Backups } from './backups.ts'
import type { Hosting } from './hosting.ts'
import { partOf } from './machine.ts'
import { type Sshd, startSshd } from './sshd.ts'

/** A destination of each kind on real servers, created in the instance on demand. */
export interface BackupLocations extends AsyncDisposable {
  local(): Promise<string>
  s3(): Promise<string>
  sftp(): Promise<string>
}

export function backupLocations(hosting: Hosting, backups: Backups): BackupLocations {
  let sshd: Sshd | undefined
  return {
    local: () => backups.destination('local', { path: 'of-tests' }),
    async s3() {
      const { username, password, origin } = new URL(partOf('s3'))
      const config = {
        endpoint: origin,
        bucket: 'berth-backups',
        prefix: `e2e-${process.pid}-${Date.now()}`,
        accessKeyId: username,
      }
      await makeBucket(origin, username, password)
      return backups.destination('s3', { ...config, secretAccessKey: password })
    },
    async sftp() {
      sshd ??= await startSshd(partOf('sshd'))
      const { host, port, user, privateKey } = sshd
      return backups.destination('sftp', { host, port, user, privateKey, path: join(hosting.folder, 'by-sftp') })
    },
    async [Symbol.asyncDispose]() {
      await sshd?.[Symbol.asyncDispose]()
    },
  }
}

async function makeBucket(endpoint: string, accessKeyId: string, secretAccessKey: string): Promise<void> {
  const { S3Client, CreateBucketCommand } = await import('@aws-sdk/client-s3')
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  })
  await client.send(new CreateBucketCommand({ Bucket: 'berth-backups' })).catch(() => undefined)
  client.destroy()
}
