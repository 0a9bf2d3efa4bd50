import type { DatabaseKind, RunningUnit } from './database-kind.ts'
import { runInside } from './exec-output.ts'
import { imageName } from './image-name.ts'

/**
 * Dumps all databases with `mongodump`, as one archive in its own format. With `--quiet` the tools would not report why they
 * fail.
 */
export const mongodb: DatabaseKind = {
  kind: 'mongodb',
  recognises: ({ image }) => /^(mongo|mongodb|mongodb-community-server|percona-server-mongodb)$/.test(imageName(image)),
  dumps: async (unit) => [
    {
      name: 'all',
      extension: 'mongodump',
      command: { argv: ['mongodump', '--archive', ...authArguments(unit)] },
      details: { service: unit.service },
    },
  ],
  load: (unit, _details, content, abort) =>
    runInside(
      unit.runtime,
      unit.instance.id,
      { argv: ['mongorestore', '--archive', '--drop', ...authArguments(unit)], stdin: content },
      abort,
    ),
}

function authArguments({ env }: RunningUnit): string[] {
  const [user, password] = [env.MONGO_INITDB_ROOT_USERNAME, env.MONGO_INITDB_ROOT_PASSWORD]
  return user && password ? [`--username=${user}`, `--password=${password}`, '--authenticationDatabase=admin'] : []
}
