import type { Deployment } from '@berth/contract'
import { expect, test } from 'vitest'
import type { Output } from './output.ts'
import { liveText, watchDeployment } from './watch-deployment.ts'

/** The stream of a failed deployment. */
function watched(lines: string[], logTail: string[], showsNotes = true) {
  const notes: string[] = []
  const print = { showsNotes, note: (text: string) => notes.push(text) } as unknown as Output
  const over = { id: 'dep_1', number: 3, status: 'failed', steps: [], error: { code: 'x', message: 'It failed', logTail } }
  async function* stream() {
    for (const message of lines) yield { event: 'log', data: { step: 'build', time: '1', message } }
    yield { event: 'complete', data: over }
  }
  const client = { stream, call: async () => ({ data: [] }) } as unknown as Parameters<typeof watchDeployment>[0]
  return { notes, ended: watchDeployment(client, 'dep_1', print) }
}

test('the last output of a failed program is reported with the failure', async () => {
  const { ended } = watched(['Starting'], ['Missing DATABASE_URL'])
  await expect(ended).rejects.toThrow('deployment 3 failed: It failed\n  its last lines:\n    Missing DATABASE_URL')
})

test('lines of output that were just shown are not repeated in the failure', async () => {
  const { ended, notes } = watched(['$ npm run build', 'error TS2322', 'It failed'], ['$ npm run build', 'error TS2322'])
  await expect(ended).rejects.toThrow(/^deployment 3 failed: It failed$/)
  expect(notes.filter((one) => one.includes('TS2322'))).toHaveLength(1)
})

test('the failure includes the last lines if no lines were shown', async () => {
  const { ended } = watched(['error TS2322'], ['error TS2322'], false)
  await expect(ended).rejects.toThrow('error TS2322')
})

test.each([
  [{ url: 'http://a.test', finishedAt: '2026-01-31T08:00:12.000Z' }, 'live at http://a.test after 12 s'],
  [{ url: null, finishedAt: '2026-01-31T08:01:05.000Z' }, 'live after 1 min 5 s'],
  [{ url: 'http://a.test', finishedAt: null }, 'live at http://a.test'],
])('a deployment ends with its address and its duration: %j', (end, text) =>
  expect(liveText({ createdAt: '2026-01-31T08:00:00.000Z', ...end } as Deployment)).toBe(text),
)
