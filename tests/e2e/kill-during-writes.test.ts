import { spawn } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { sql } from 'kysely'
import { build } from 'rolldown'
import { expect, onTestFinished, test } from 'vitest'
import type { Database } from '../../packages/server/src/platform/database.ts'
import { describeOnEachDatabase } from '../../packages/server/src/platform/test-each-database.ts'
import type { WriterOrders } from './killed-writer.ts'

const kills = 20
const writes = 200
const jobPrefix = 'job '

/** Bundled and with its code cached, it starts in a tenth of the time that its sources take. */
async function buildWriter(folder: string): Promise<void> {
  const names = { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' }
  const input = path.join(import.meta.dirname, 'killed-writer.ts')
  await build({
    input,
    platform: 'node',
    external: ['pg-native'],
    logLevel: 'warn',
    output: { dir: folder, format: 'esm', ...names },
  })
}

/**
 * Runs the writer, and kills it a moment after `killAfter` acknowledged writes, or while the job runs that starts next after
 * them. Gives the names that it acknowledged.
 */
async function runWriter(
  orders: WriterOrders,
  killAfter = Number.POSITIVE_INFINITY,
  during: 'write' | 'job' = 'write',
): Promise<{ acknowledged: string[]; killed: boolean }> {
  const child = spawn(process.execPath, [path.join(orders.folder, 'killed-writer.mjs'), JSON.stringify(orders)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_COMPILE_CACHE: path.join(orders.folder, 'code-cache') },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = new Promise<[number | null, NodeJS.Signals | null]>((resolve) => child.on('close', (...how) => resolve(how)))
  let complaints = ''
  child.stderr.on('data', (chunk) => {
    complaints += chunk
  })
  const acknowledged: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    const isJob = line.startsWith(jobPrefix)
    if (!isJob) acknowledged.push(line)
    if (acknowledged.length < killAfter) continue
    if (isJob && during === 'job') child.kill('SIGKILL')
    if (!isJob && during === 'write' && acknowledged.length === killAfter)
      setTimeout(() => child.kill('SIGKILL'), Math.random() * 5)
  }
  const [code, signal] = await ended
  if (code !== 0 && signal !== 'SIGKILL') throw new Error(`the writer ended with ${code ?? signal}: ${complaints}`)
  return { acknowledged, killed: signal === 'SIGKILL' }
}

async function names({ db }: Database, table: string): Promise<Set<string>> {
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(table)}`.execute(db)
  return new Set(rows.map((row) => row.name))
}

describeOnEachDatabase(
  `kill -9 in the middle of ${writes} acknowledged writes and ${writes / 5} jobs, ${kills} times over`,
  (open, kind) => {
    test('every acknowledged write is stored with its audit entry, and every job ran to its end', async () => {
      const database = await open()
      for (const table of ['written', 'recorded', 'begun', 'finished']) {
        await sql`create table ${sql.table(table)} (name text primary key)`.execute(database.db)
      }
      await buildWriter(database.settings.folder)
      // A process that exits by itself leaves its code cache for the others.
      const orders = { ...database.settings, jobPrefix }
      await runWriter({ ...orders, round: -1, writes: 0 })
      const acknowledged: string[] = []
      let deaths = 0
      for (let round = 0; round < kills; round++) {
        const killAfter = 20 + Math.floor(Math.random() * (writes - 40))
        const outcome = await runWriter({ ...orders, round, writes }, killAfter, round % 2 === 0 ? 'write' : 'job')
        acknowledged.push(...outcome.acknowledged)
        if (outcome.killed) deaths++
      }
      await runWriter({ ...orders, round: kills, writes: 0 })

      const written = await names(database, 'written')
      expect(deaths).toBe(kills)
      expect(acknowledged.length).toBeGreaterThan(kills * 20)
      expect(acknowledged.filter((name) => !written.has(name))).toEqual([])
      expect([...(await names(database, 'recorded'))].toSorted()).toEqual([...written].toSorted())
      const jobs = await database.db
        .selectFrom('jobs')
        .select(['payload', 'status', 'attempts'])
        .where('kind', '=', 'test.finish')
        .execute()
      const withJob = [...written].filter((name) => Number(name.split('-')[1]) % 5 === 0).sort()
      // A write and its job are stored together or not at all, acknowledged or not.
      expect(jobs.map((job) => JSON.parse(job.payload).name).sort()).toEqual(withJob)
      expect(jobs.filter((job) => job.status !== 'succeeded')).toEqual([])
      expect([...(await names(database, 'finished'))].sort()).toEqual(withJob)
      // The kills did fall into running jobs, or this proves nothing.
      expect(jobs.some((job) => job.attempts > 1)).toBe(true)
      if (kind === 'sqlite')
        expect((await sql`pragma integrity_check`.execute(database.db)).rows).toEqual([{ integrity_check: 'ok' }])
    })
  },
)
