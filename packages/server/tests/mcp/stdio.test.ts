import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { callTool, type Revision, revisions } from '../kit/mcp-client.ts'
import { makePeople, type People } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

/** `berth mcp` as an agent starts it. */

const program = join(import.meta.dirname, '../../../cli/src/main.ts')
let instance: TestInstance
let people: People
let url: string
beforeAll(async () => {
  instance = await startInstance()
  url = await instance.app.listen({ host: '127.0.0.1', port: 0 })
  people = await makePeople(instance)
})
afterAll(() => instance.stop())

async function start(token: string, revision: Revision, ...args: string[]) {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: revisions[revision] } },
  )
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { confirm: true } }))
  const env = { PATH: process.env.PATH ?? '', BERTH_URL: url, BERTH_TOKEN: token, HOME: '/nonexistent' }
  const transport = new StdioClientTransport({ command: process.execPath, args: [program, 'mcp', ...args], env })
  await client.connect(transport)
  return client
}

test.each(Object.keys(revisions) as Revision[])('lists, streams and confirms in revision %s', async (revision) => {
  const client = await start(people.owner.token, revision, '--tools', 'projects,notifications')
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('projects_remove')
  const { id } = await makeProject(instance, people.owner.token, { name: 'Übung' })
  expect((await callTool(client, 'projects_get', { id })).json()).toMatchObject({ data: { name: 'Übung' } })
  const events: string[] = []
  const streamed = await callTool(client, 'notifications_streamDeliveries', { maxSeconds: 1 }, ({ message }) => {
    events.push(message ?? '')
  })
  expect(streamed.text).toContain('ended by maxSeconds')
  expect(events).toHaveLength(1)
  expect(await callTool(client, 'projects_remove', { id })).toMatchObject({ isError: false })
  await client.close()
})

test('a refused token is an error of the request, not the end of the program', async () => {
  await expect(start('brt_wrong', '2025-11-25')).rejects.toThrow(/Sign in|token/i)
})
