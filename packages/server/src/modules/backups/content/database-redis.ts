import { posix } from 'node:path'
import type { DatabaseKind, RunningUnit } from './database-kind.ts'
import { textOf } from './exec-output.ts'
import { imageName } from './image-name.ts'

/** Dumped with `redis-cli --rdb`; restored as the RDB file that the server loads at its start. */
export const redis: DatabaseKind = {
  kind: 'redis',
  recognises: ({ image }) => /^(redis|valkey|redis-stack|redis-stack-server|keydb)$/.test(imageName(image)),
  async dumps(unit, abort) {
    // A server with an append-only file loads that file at its start instead of the RDB. The file can be copied at any time.
    if ((await setting(unit, 'appendonly', abort)) === 'yes') return null
    const [folder, file] = [await setting(unit, 'dir', abort), await setting(unit, 'dbfilename', abort)]
    const volume = unit.volumes.find(({ mountPath }) => posix.normalize(mountPath) === posix.normalize(folder))
    return [
      {
        name: 'all',
        extension: 'rdb',
        command: { argv: [cli(unit), '--rdb', '-'], env: authEnvironment(unit) },
        details: { service: unit.service, ...(volume ? { file: { volume: volume.name, path: file || 'dump.rdb' } } : {}) },
      },
    ]
  },
}

const cli = ({ image }: RunningUnit) => (imageName(image) === 'valkey' ? 'valkey-cli' : 'redis-cli')

/** Passed in the environment, which the process list does not show. */
function authEnvironment({ env }: RunningUnit): Record<string, string> {
  const password = env.REDIS_PASSWORD ?? env.VALKEY_PASSWORD
  return password ? { REDISCLI_AUTH: password } : {}
}

/** `redis-cli` prints the name and the value on separate lines. */
async function setting(unit: RunningUnit, name: string, abort: AbortSignal): Promise<string> {
  const argv = [cli(unit), 'CONFIG', 'GET', name]
  const text = await textOf(unit.runtime, unit.instance.id, { argv, env: authEnvironment(unit) }, abort)
  return text.split('\n')[1]?.trim() ?? ''
}
