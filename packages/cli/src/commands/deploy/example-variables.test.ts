import { Command } from 'commander'
import { afterEach, expect, test, vi } from 'vitest'
import type { Connection } from '../../credentials.ts'
import type { Output } from '../../output.ts'
import * as terminal from '../../prompt.ts'
import { offerVariables } from './example-variables.ts'

afterEach(() => vi.restoreAllMocks())

const example = {
  file: '.env.example',
  variables: [
    { key: 'DATABASE_URL', value: 'file:./data.db' },
    { key: 'TOKEN', value: '' },
  ],
}
const ttys = [process.stdin, process.stderr] as const
const wereTtys = ttys.map(({ isTTY }) => isTTY)
afterEach(() => ttys.forEach((stream, at) => void Object.assign(stream, { isTTY: wereTtys[at] })))

async function offer(isTty: boolean) {
  for (const stream of ttys) Object.assign(stream, { isTTY: isTty })
  const notes: string[] = []
  const call = vi.fn().mockResolvedValue({ data: [] })
  const print = { note: (text: string) => notes.push(text) } as unknown as Output
  await offerVariables({ call } as unknown as Connection, 'prj_a', example, print, new Command())
  return { notes, bodies: call.mock.calls.map(([, { body }]) => body) }
}

test('without a terminal the variables of the template are named and nothing is set', async () => {
  const { notes, bodies } = await offer(false)
  expect(notes).toEqual([
    '.env.example names variables that the app may need: DATABASE_URL, TOKEN. Set them with berth env set or berth env push.',
  ])
  expect(bodies).toEqual([])
})

test('at a terminal each value is prompted for, beginning with the example; an empty one is not set', async () => {
  vi.spyOn(terminal.prompts, 'confirm').mockResolvedValue(true)
  const text = vi.spyOn(terminal.prompts, 'text').mockImplementation(async ({ initialValue }) => initialValue ?? '')
  const { notes, bodies } = await offer(true)
  expect(text.mock.calls.map(([{ message, initialValue }]) => [message, initialValue])).toEqual([
    ['DATABASE_URL', 'file:./data.db'],
    ['TOKEN', ''],
  ])
  expect(bodies).toEqual([{ upserts: [{ key: 'DATABASE_URL', value: 'file:./data.db', isSecret: true }] }])
  expect(notes).toEqual(['set as secrets: DATABASE_URL'])
})

test('a declined offer sets nothing', async () => {
  vi.spyOn(terminal.prompts, 'confirm').mockResolvedValue(false)
  expect((await offer(true)).bodies).toEqual([])
})
