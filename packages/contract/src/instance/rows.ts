import { Type } from 'typebox'
import { route } from '../route.ts'
import { data, oneOf } from '../shape.ts'
import { InstanceVersion, Machine } from './machine-shapes.ts'

/** How projects are isolated from each other; shown only to signed-in users. */
const isolation = Type.Object({ kind: oneOf('docker', 'bubblewrap', 'own-users', 'none'), message: Type.String() })

/** State of the process that deploys, backs up and serves projects; shown only to signed-in users. */
const workerState = oneOf('ok', 'starting', 'away')

export const instance = {
  health: route('GET /health', {
    public: true,
    acceptsCaller: true,
    returns: data(
      Type.Object({
        status: oneOf('ok'),
        version: Type.String(),
        mode: oneOf('self-hosted', 'cloud'),
        worker: Type.Optional(workerState),
        isolation: Type.Optional(isolation),
        setUp: Type.Optional(Type.Boolean({ description: 'False until the first owner exists; absent afterwards' })),
      }),
    ),
    errors: ['starting'],
    summary: 'Whether the instance is up and its first owner can sign in',
  }),
  machine: route('GET /instance/machine', {
    summary: 'Disk, memory, load and clock of the machine that runs the projects, and what is wrong with them; for operators',
    permission: 'organization:read',
    operator: true,
    returns: data(Machine),
  }),
  version: route('GET /instance/version', {
    summary: 'The version of the instance, and whether the package registry has a newer one; for operators',
    permission: 'organization:read',
    operator: true,
    returns: data(InstanceVersion),
  }),
}
