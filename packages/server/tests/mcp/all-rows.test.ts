import { type AnyRoute, type Method, roles, table } from '@berth/contract'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defaultTools, rowTools } from '../../src/http/mcp/tools.ts'
import { type CallInput, call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { callTool, connectMcp } from '../kit/mcp-client.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'
import { sampleBodies } from '../kit/sample-bodies.ts'

/** Every tool for every role: the client is refused exactly what the row's route refuses. */

const tools = [...rowTools('self-hosted').values()].map(({ name, row }) => ({ name, row }))
const at = (row: AnyRoute) => row.at as `${Method} /${string}`

let instance: TestInstance
let people: People
let url: string
const clients = new Map<string, Client>()
beforeAll(async () => {
  instance = await startInstance()
  url = await instance.app.listen({ host: '127.0.0.1', port: 0 })
  people = await makePeople(instance)
})
afterAll(async () => {
  for (const client of clients.values()) await client.close()
  await instance.stop()
})

async function clientOf(token: string): Promise<Client> {
  const onQuestion = () => ({ action: 'accept', content: { confirm: true } }) as const
  const client = clients.get(token) ?? (await connectMcp(url, token, { onQuestion }))
  clients.set(token, client)
  return client
}

/** Params that name no object, and a body that the row accepts. */
function inputFor(row: AnyRoute): CallInput & { params: Record<string, string> } {
  const params = Object.fromEntries([...row.path.matchAll(/:(\w+)/g)].map(([, name]) => [name as string, `${name}_unknown`]))
  return { params, body: row.body ? (sampleBodies[row.at] ?? {}) : undefined }
}

/** The refusal, if the call was refused. Other results may differ between two calls, so only their success is compared. */
const refusal = (status: number | undefined, body: unknown) => {
  const { code, permission } = body as { code?: string; permission?: string }
  return status === 401 || status === 403 ? { status, code, permission } : { isAllowed: true }
}

async function expectSame(token: string, name: string, row: AnyRoute) {
  const input = inputFor(row)
  const direct = await call(instance, token, at(row), input)
  const answer = await callTool(await clientOf(token), name, { ...input.params, ...(input.body as object) })
  const body = answer.isError ? answer.json() : {}
  expect({ name, ...refusal(answer.status, body) }).toEqual({ name, ...refusal(direct.status, direct.body) })
  expect(answer.status).not.toBe(500)
}

/** Streams without an object stay open, and are read in `attacks.test.ts`. */
const called = tools.filter(({ row }) => !(row.stream && !row.on))

/**
 * Calls 16 at a time: a few rows wait for a connection that fails. Rows about the account are called one after the other, since they
 * change what the next one answers.
 */
async function expectSameForAll(token: string) {
  await clientOf(token)
  const { access = [], others = [] } = Object.groupBy(called, ({ name }) => (name.startsWith('access_') ? 'access' : 'others'))
  for (const { name, row } of access) await expectSame(token, name, row)
  for (let at = 0; at < others.length; at += 16)
    await Promise.all(others.slice(at, at + 16).map(({ name, row }) => expectSame(token, name, row)))
}

describe.each(roles)('as the role %s', (role) => {
  test('each tool is refused exactly where its route refuses', async () => {
    await expectSameForAll(people[role].token)
  })
})

describe('tokens with limits', () => {
  test('a token of one scope', async () => {
    const token = await makeToken(instance, people.owner, { scopes: ['project:read'] })
    await expectSameForAll(token)
    const { tools } = await (await clientOf(token)).listTools()
    expect(tools.length).toBeGreaterThan(5)
    expect(tools.filter(({ annotations }) => !annotations?.readOnlyHint).map(({ name }) => name)).toEqual(['call_tool'])
  })
  test('a token of other projects', async () => {
    const token = await makeToken(instance, people.owner, { projectIds: ['prj_other'] })
    await expectSameForAll(token)
  })
})

describe('the table', () => {
  test('every row that a token may call is a tool, except rows without JSON', () => {
    const missing = table.filter(({ row }) => row.permission && ![...tools].some((tool) => tool.row === row))
    expect(missing.every(({ row }) => row.upload || row.bytes)).toBe(true)
    expect(tools.some(({ row }) => row.public)).toBe(false)
  })
  test('names suit every client, and each schema is one flat object without foreign references', () => {
    for (const { name, schema } of rowTools('self-hosted').values()) {
      expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
      const text = JSON.stringify(schema.json)
      const [refs, defs] = [[...text.matchAll(/"#\/\$defs\/([^"]+)"/g)], (schema.json as { $defs?: object }).$defs ?? {}]
      expect(text).not.toContain('#/components')
      for (const [, ref] of refs) expect(Object.keys(defs)).toContain(ref)
    }
  })
  test('every tool of the default list exists', () => {
    expect(defaultTools.filter((name) => !rowTools('self-hosted').has(name))).toEqual([])
    expect(defaultTools.length).toBeLessThanOrEqual(38)
  })
  test('the cloud has no tool of rows that only a self-hosted instance serves', () => {
    expect([...rowTools('cloud').values()].some(({ row }) => row.selfHostedOnly)).toBe(false)
  })
})
