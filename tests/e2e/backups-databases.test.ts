import type { Service } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openEngine } from '../../packages/server/src/drivers/runtime/docker/engine.ts'
import { Labels } from '../../packages/server/src/drivers/runtime/docker/labels.ts'
import { containerName } from '../../packages/server/src/drivers/runtime/docker/run/container-settings.ts'
import { execIn } from '../../packages/server/src/drivers/runtime/docker/run/exec.ts'
import type { Runtime } from '../../packages/server/src/drivers/runtime/runtime.ts'
import type { RunningUnit } from '../../packages/server/src/modules/backups/content/database-kind.ts'
import { detectDatabase } from '../../packages/server/src/modules/backups/content/databases.ts'
import { outputOf } from '../../packages/server/src/modules/backups/content/exec-output.ts'
import { type BackupLocations, backupLocations } from '../kit/backup-locations.ts'
import { type Backups, backupsOf } from '../kit/backups.ts'
import { type Hosting, startHosting } from '../kit/hosting.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'
import { describeOnDocker } from '../kit/runtimes.ts'

interface Database {
  name: string
  artifacts: string[]
  service(): Service
  /** The command that runs a query inside the service and prints the result. */
  request(text: string): string[]
  fill: string
  change: string
  read: string
  /** Number of tables that a test restore of its dump counts; null: it has none. */
  tables: number | null
}

const databases: Database[] = [
  {
    name: 'postgres',
    artifacts: ['db/globals', 'db/postgres', 'db/shop'],
    service: () => ({
      name: 'db',
      image: partOf('postgresImage'),
      environment: { POSTGRES_USER: 'shop', POSTGRES_PASSWORD: 'secret word', POSTGRES_DB: 'shop' },
      ports: [5432],
      volumes: [{ type: 'volume', source: 'pgdata', target: '/var/lib/postgresql/data' }],
    }),
    request: (text) => ['psql', '-U', 'shop', '-d', 'shop', '-At', '-v', 'ON_ERROR_STOP=1', '-c', text],
    fill: `create table things (id int primary key, name text); insert into things select n, 'thing ''' || n from generate_series(1, 500) n; create view few as select * from things where id < 3`,
    change: 'delete from things where id > 10; create table extra (id int)',
    read: `select md5(string_agg(id || name, ',' order by id)) || ' ' || count(*) || ' ' || (select count(*) from few) || ' ' || (select count(*) from pg_tables where schemaname = 'public') from things`,
    tables: 1,
  },
  {
    name: 'mariadb',
    artifacts: ['db/shop'],
    service: () => ({
      name: 'db',
      image: partOf('mariadbImage'),
      environment: { MARIADB_ROOT_PASSWORD: 'secret word', MARIADB_DATABASE: 'shop' },
      ports: [3306],
      volumes: [{ type: 'volume', source: 'mysqldata', target: '/var/lib/mysql' }],
    }),
    request: (text) => ['mariadb', '-uroot', '-psecret word', '-N', '-B', 'shop', '-e', text],
    fill: `create table things (id int primary key, name varchar(50)); insert into things select seq, concat('thing ', seq) from seq_1_to_500`,
    change: 'delete from things where id > 10; create table extra (id int)',
    read: `select concat(count(*), ' ', sum(crc32(concat(id, name))), ' ', (select count(*) from information_schema.tables where table_schema = 'shop')) from things`,
    tables: 1,
  },
  {
    name: 'redis',
    artifacts: ['db/all'],
    service: () => ({
      name: 'db',
      image: partOf('redisImage'),
      ports: [6379],
      volumes: [{ type: 'volume', source: 'redisdata', target: '/data' }],
    }),
    request: (text) => ['redis-cli', ...text.split(' ')],
    fill: 'MSET one 1 two 2 three 3',
    change: 'MSET one changed four 4',
    read: 'MGET one two three four',
    tables: null,
  },
]

describeOnDocker('databases in services', () =>
  describeNeeding(['postgresImage', 'mariadbImage', 'redisImage', 's3', 'sshd'], 'by their own tools', () => {
    let hosting: Hosting
    let backups: Backups
    let paths: BackupLocations
    beforeAll(async () => {
      hosting = await startHosting({ runtime: 'docker', env: { BERTH_JOB_LEASE_SECONDS: '1' } })
      backups = backupsOf(hosting)
      paths = backupLocations(hosting, backups)
    })
    afterAll(async () => {
      await hosting?.[Symbol.asyncDispose]()
      await paths?.[Symbol.asyncDispose]()
    })

    const engine = openEngine(partOf('docker'))
    const labels = new Labels('tests')
    async function instanceOf(projectId: string): Promise<string> {
      const filters = JSON.stringify({ label: [`berth.project=${projectId}`, 'berth.kind=instance'], status: ['running'] })
      const [container] = await engine.listContainers({ filters } as object)
      return (container?.Names[0] ?? '').replace(/^\/berth-|^\//, '')
    }

    /** Dumps the database as a run does, and loads it as a test restore does. */
    async function provenTables(projectId: string, { service }: Database): Promise<number | null> {
      const { name, image = null, environment = {} } = service()
      const exec: Runtime['exec'] = (instanceId, command, abort) =>
        execIn(containerName(instanceId), command, { engine, labels }, abort)
      const instance = { id: await instanceOf(projectId), serverId: null }
      const unit = { service: name, image, env: environment, volumes: [], instance, runtime: { exec } } as unknown as RunningUnit
      const abort = AbortSignal.timeout(120_000)
      const kind = detectDatabase(unit)
      if (!kind?.tryRestore) return null
      const dump = (await kind.dumps(unit, abort))?.find(({ details }) => details.database === 'shop')
      return dump ? kind.tryRestore(unit, dump.details, outputOf(unit.runtime, instance.id, dump.command, abort), abort) : -1
    }

    async function inside(projectId: string, argv: string[]): Promise<string> {
      const name = containerName(await instanceOf(projectId))
      let output = ''
      const onStdout = (chunk: Uint8Array) => {
        output += Buffer.from(chunk).toString()
      }
      const { exitCode, stderrTail } = await execIn(name, { argv, onStdout }, { engine, labels }, AbortSignal.timeout(120_000))
      if (exitCode !== 0) throw new Error(`${argv[0]}: ${stderrTail}`)
      return output.trim()
    }

    /** Every database once, and every kind of destination once; `BERTH_TEST_BACKUP_MATRIX=all` runs every combination. */
    const lean = new Set(['postgres local', 'mariadb sftp', 'redis s3'])
    const cases = databases.flatMap((database) =>
      (['local', 's3', 'sftp'] as const).map((location) => [database.name, location, database] as const),
    )
    const tried = cases.filter(
      ([name, location]) => process.env.BERTH_TEST_BACKUP_MATRIX === 'all' || lean.has(`${name} ${location}`),
    )
    test.each(tried)('a backup of %s to %s is restored with every row', async (_name, location, database) => {
      const { id } = await hosting.makeProject({
        name: `db-${database.name}-${location}`,
        type: 'services',
        services: [database.service()],
      })
      const deployment = await hosting.settled(await hosting.deploy(id))
      expect(deployment.error).toBeNull()
      const request = (text: string) => inside(id, database.request(text))
      await expect.poll(() => request(database.read.startsWith('MGET') ? 'PING' : 'select 1').catch(() => '')).toMatch(/1|PONG/)
      await request(database.fill)
      const before = await request(database.read)
      const destinationId = await paths[location]()
      const policyId = await backups.policy(id, { destinationId })
      const run = await backups.backUp(policyId)
      expect([run.status, run.error]).toEqual(['succeeded', null])
      expect(run.artifacts.map(({ name }) => name)).toEqual(database.artifacts)
      expect(await provenTables(id, database)).toBe(database.tables)
      await request(database.change)
      const changed = await request(database.read)
      expect(changed).not.toBe(before)
      const restore = await backups.restore(run.id)
      expect([restore.status, restore.error]).toEqual(['succeeded', null])
      await expect.poll(() => request(database.read).catch(() => '')).toBe(before)
      expect((await backups.restore(restore.preRestoreRunId as string)).status).toBe('succeeded')
      await expect.poll(() => request(database.read).catch(() => '')).toBe(changed)
    })
  }),
)
