// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

let instance: TestInstance
let people: People
let port: number
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
  port = Number(new URL(await instance.app.listen({ host: '127.0.0.1', port: 0 })).port)
})
afterAll(() => instance.stop())

const count = 40

/** Sends the whole request and resets the connection some moments later. */
async function sendAndReset(path: string, body: string, afterMs: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  const head = [
    `PATCH ${path} HTTP/1.1`,
    'host: x',
    `authorization: Bearer ${people.owner.token}`,
    'content-type: application/json',
  ]
  await new Promise<void>((resolve) =>
    socket.write(`${head.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`, () => resolve()),
  )
  if (afterMs > 0) await pause(afterMs)
  socket.resetAndDestroy()
}

test('a write of a disconnected client is in the audit log', async () => {
  const { db } = instance.database
  const { id } = await makeProject(instance, people.owner.token)
  for (let at = 0; at < count; at++)
    await sendAndReset(`/api/projects/${id}/env`, JSON.stringify({ upserts: [{ key: `KEY_${at}`, value: 'x' }] }), at % 4)
  // The last connection is reset only after its response: all earlier requests have been read by then.
  await call(instance, people.owner.token, 'PATCH /projects/:id/env', {
    params: { id },
    body: { upserts: [{ key: 'LAST', value: 'x' }] },
  })
  const stored = async () => {
    const rows = await db.selectFrom('envVariables').select('key').where('projectId', '=', id).execute()
    return rows.map(({ key }) => key).toSorted()
  }
  const recorded = async () => {
    const rows = await db.selectFrom('auditLog').select(['changes', 'ip']).where('objectId', '=', id).execute()
    return rows.flatMap(({ changes }) => /(KEY_\d+|LAST)/.exec(changes)?.[0] ?? []).toSorted()
  }
  expect((await stored()).length).toBeGreaterThan(1)
  await vi.waitFor(async () => expect(await recorded()).toEqual(await stored()), 20_000)
})
