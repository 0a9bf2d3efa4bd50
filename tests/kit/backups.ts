import { setTimeout as pause } from 'node:timers/promises'
import type { BackupRestore, BackupRun } from '@berth/contract'
import type { Hosting } from './hosting.ts'

/** A user's backup actions on a running instance. */
export interface Backups {
  destination(kind: string, config: object): Promise<string>
  policy(projectId: string, body: object): Promise<string>
  start(policyId: string): Promise<string>
  run(id: string): Promise<BackupRun>
  backUp(policyId: string): Promise<BackupRun>
  /** Resolves when the run has ended, or when `until` returns true. */
  ended(id: string, until?: (run: BackupRun) => boolean): Promise<BackupRun>
  prepare(runId: string, body?: object): Promise<{ restoreId: string; confirmationToken: string }>
  apply(prepared: { restoreId: string; confirmationToken: string }): Promise<void>
  restored(id: string, until?: (restore: BackupRestore) => boolean): Promise<BackupRestore>
  restore(runId: string, body?: object): Promise<BackupRestore>
}

const terminal = ['succeeded', 'failed', 'cancelled', 'server_error']

export function backupsOf(hosting: Hosting): Backups {
  const data = async (method: string, path: string, status: number, body?: unknown) => {
    const answer = await hosting.api(method, path, body)
    if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body.data
  }
  const isOver = ({ status }: { status: string }) => terminal.includes(status)
  const wait = async <Row extends { status: string }>(path: string, until: (row: Row) => boolean): Promise<Row> => {
    // An intermediate status lasts milliseconds. The final one stays, and each request takes CPU time from the backup.
    const pauseMs = until === isOver ? 100 : 15
    for (const end = performance.now() + 120_000; ; ) {
      // The instance may be restarting.
      const row: Row | undefined = await data('GET', path, 200).catch(() => undefined)
      if (row && until(row)) return row
      if (performance.now() > end) throw new Error(`${path} is still ${JSON.stringify(row)}`)
      await pause(pauseMs)
    }
  }
  const start = async (policyId: string) => (await data('POST', `/backup-policies/${policyId}/run`, 202)).runId as string
  const ended = (id: string, until: (run: BackupRun) => boolean = isOver) => wait<BackupRun>(`/backup-runs/${id}`, until)
  const prepare: Backups['prepare'] = (runId, body = {}) => data('POST', `/backup-runs/${runId}/restore/prepare`, 201, body)
  const apply: Backups['apply'] = ({ restoreId, confirmationToken }) =>
    data('POST', `/backup-restores/${restoreId}/apply`, 202, { confirmationToken })
  const restored = (id: string, until: (restore: BackupRestore) => boolean = isOver) =>
    wait<BackupRestore>(`/backup-restores/${id}`, until)
  return {
    destination: async (kind, config) => (await data('POST', '/backup-destinations', 201, { name: kind, kind, config })).id,
    policy: async (projectId, body) => (await data('POST', `/projects/${projectId}/backup-policies`, 201, body)).id,
    start,
    run: (id) => data('GET', `/backup-runs/${id}`, 200),
    backUp: async (policyId) => ended(await start(policyId)),
    ended,
    prepare,
    apply,
    restored,
    async restore(runId, body) {
      const prepared = await prepare(runId, body)
      await apply(prepared)
      return restored(prepared.restoreId)
    },
  }
}
