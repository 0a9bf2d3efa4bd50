import { expect, test } from 'vitest'
import type { ExecCommand } from '../../../drivers/runtime/runtime.ts'
import type { DataUnit } from '../../deployments/index.ts'
import type { RunningUnit } from './database-kind.ts'
import { mongodb } from './database-mongodb.ts'
import { detectDatabase } from './databases.ts'

// MongoDB is not available where these tests run: they compare the arguments of its tools with the tools' documentation.

const neverAborted = new AbortController().signal
const requested: { argv: readonly string[]; stdin: string }[] = []
const unit = (env: Record<string, string>, image = 'mongo:7'): RunningUnit =>
  ({
    service: 'db',
    image,
    env,
    volumes: [],
    instance: { id: 'ins_1', serverId: null },
    runtime: {
      async exec(_id: string, { argv, stdin }: ExecCommand) {
        const chunks = stdin ? await Array.fromAsync(stdin as AsyncIterable<Uint8Array>) : []
        requested.push({ argv, stdin: Buffer.concat(chunks).toString() })
        return { exitCode: 0, stderrTail: '' }
      },
    },
  }) as unknown as RunningUnit

test.each(['mongo', 'mongo:7.0-jammy', 'docker.io/library/mongo:6', 'ghcr.io/x/mongodb-community-server', 'mongo@sha256:abc'])(
  'the image %s is a MongoDB',
  (image) => {
    expect(detectDatabase(unit({}, image) as DataUnit)).toBe(mongodb)
  },
)

test.each(['mongo-express:1', 'my/mongo-backup', 'postgres:16'])('the image %s is not a MongoDB', (image) => {
  expect(mongodb.recognises(unit({}, image) as DataUnit)).toBe(false)
})

test('the dump includes all databases, runs as root if the service has a root password, and uses no shell', async () => {
  const env = { MONGO_INITDB_ROOT_USERNAME: 'root', MONGO_INITDB_ROOT_PASSWORD: `it's; $(a) "word"` }
  expect(await mongodb.dumps(unit(env), neverAborted)).toEqual([
    {
      name: 'all',
      extension: 'mongodump',
      details: { service: 'db' },
      command: {
        argv: ['mongodump', '--archive', '--username=root', `--password=it's; $(a) "word"`, '--authenticationDatabase=admin'],
      },
    },
  ])
  expect((await mongodb.dumps(unit({}), neverAborted))?.[0]?.command.argv).toEqual(['mongodump', '--archive'])
})

test('a dump is loaded from the input and replaces the existing collections', async () => {
  async function* content() {
    yield Buffer.from('the ')
    yield Buffer.from('archive')
  }
  requested.length = 0
  await mongodb.load?.(unit({}), { service: 'db' }, content(), neverAborted)
  expect(requested).toEqual([{ argv: ['mongorestore', '--archive', '--drop'], stdin: 'the archive' }])
})
