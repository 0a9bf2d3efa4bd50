import type { ArtifactKind } from '../../../platform/db/tables/backups.ts'
import type { DataUnit } from '../../deployments/index.ts'
import type { DatabaseKind } from './database-kind.ts'
import { mongodb } from './database-mongodb.ts'
import { mysql } from './database-mysql.ts'
import { postgres } from './database-postgres.ts'
import { redis } from './database-redis.ts'

const kinds: readonly DatabaseKind[] = [postgres, mysql, mongodb, redis]

export const detectDatabase = (unit: DataUnit): DatabaseKind | undefined => kinds.find((kind) => kind.recognises(unit))
export const databaseKind = (kind: ArtifactKind): DatabaseKind | undefined => kinds.find((one) => one.kind === kind)
