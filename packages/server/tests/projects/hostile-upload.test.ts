import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TarEntry, tarball } from '../../src/drivers/tarball/hostile-corpus.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'

let base: string
let instance: TestInstance
let people: People
beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'berth-hostile-'))
  instance = await startInstance({ BERTH_DATA_DIR: base })
  people = await makePeople(instance)
})
afterAll(async () => {
  await instance.stop()
  rmSync(base, { recursive: true, force: true })
})

const stages = Array.from({ length: 5000 }, (_, at) => `FROM s${at - 1} AS s${at}\nENV V${at}=1\n`)

/** Each of these used to block the event loop for seconds. */
const hostile: Record<string, TarEntry[]> = {
  'an attribute without an end': [{ name: 'pom.xml', content: `<project ${'a'.repeat(300_000)}></project>` }],
  'stages that hand on their variables': [{ name: 'Dockerfile', content: stages.join('') }],
  'a file that includes itself': [
    { name: 'requirements.txt', content: '-r a.txt\n'.repeat(1500) },
    { name: 'a.txt', content: '-r requirements.txt\n'.repeat(1500) },
  ],
  'a mapping that is merged everywhere': [
    {
      name: 'compose.yaml',
      content: `x-a: &a {${Array.from({ length: 5000 }, (_, at) => `k${at}: 1`).join(', ')}}\nservices:\n${Array.from({ length: 2500 }, (_, at) => `  s${at}: { image: x, labels: { <<: *a } }`).join('\n')}\n`,
    },
  ],
}
const harmless: TarEntry[] = [{ name: 'package.json', content: JSON.stringify({ dependencies: { express: '5' } }) }]

async function upload(entries: TarEntry[]): Promise<string> {
  const { token } = people.member
  const { sessionId } = (await call(instance, token, 'POST /projects/folder/session', { body: {} })).body.data
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/gzip' }
  const url = `/api/projects/folder/upload/${sessionId}`
  expect((await instance.app.inject({ method: 'POST', url, headers, payload: tarball(...entries) })).statusCode).toBe(200)
  return sessionId
}

/** The longest duration of a health check that was requested during the scan. */
async function maxHealthCheckLength(sessionId: string): Promise<{ status: number; maxMs: number }> {
  let [isOver, maxMs] = [false, 0]
  const scan = call(instance, people.member.token, 'POST /projects/folder/scan/:sessionId', { params: { sessionId } })
  const done = scan.finally(() => (isOver = true))
  while (!isOver) {
    const start = performance.now()
    expect((await instance.app.inject({ method: 'GET', url: '/api/health' })).statusCode).toBe(200)
    await new Promise((resolve) => setImmediate(resolve))
    maxMs = Math.max(maxMs, performance.now() - start)
  }
  return { status: (await done).status, maxMs }
}

test.each(Object.entries(hostile))(
  '%s: other requests are as fast as during the scan of a harmless folder',
  async (_, entries) => {
    const usual = await maxHealthCheckLength(await upload(harmless))
    const { status, maxMs: longestMs } = await maxHealthCheckLength(await upload(entries))
    expect([200, 400]).toContain(status)
    // A busy machine has pauses too, but a blocked event loop stays blocked for the whole scan.
    expect(longestMs).toBeLessThan(Math.max(25 * usual.maxMs, 1000))
  },
)
