import { setTimeout as pause } from 'node:timers/promises'
import { type CronRun, contract } from '@berth/contract'
import type { Connection } from '../../credentials.ts'

const pollIntervalMs = 1_000

/** Passes the output of a run on until the run has ended. */
export async function waitForRun(
  client: Pick<Connection, 'call'>,
  id: string,
  onLine: (message: string) => void,
): Promise<CronRun> {
  let cursor: string | undefined
  for (;;) {
    // Read before the lines: a run that has ended has written all of them.
    const { data: run } = await client.call(contract.tasks.getRun, { params: { id } })
    for (let hasMore = true; hasMore; ) {
      const query = { limit: 500, ...(cursor ? { cursor } : {}) }
      const { data, nextCursor } = await client.call(contract.tasks.runLogs, { params: { id }, query })
      for (const { message } of data) onLine(message)
      cursor = data.at(-1)?.id ?? cursor
      hasMore = nextCursor !== null
    }
    if (run.status !== 'queued' && run.status !== 'running') return run
    await pause(pollIntervalMs)
  }
}
