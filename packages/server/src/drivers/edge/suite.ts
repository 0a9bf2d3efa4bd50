import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EdgeHost, EdgeTable } from '../../edge-proxy/protocol/edge-table.ts'
import type { EdgeDriver } from './edge.ts'

/** Test environment that an implementation provides; its edge is started. */
export interface SuiteEdge {
  driver: EdgeDriver
  /** Sends a request for a host without waiting for it; it may be held. */
  request(hostname: string): void
  /** Whether the host has an active entry. */
  serves(hostname: string): Promise<boolean>
  close(): Promise<void>
}

const disabled = (projectId: string): EdgeHost => ({ target: { kind: 'disabled', projectId } })
const sleeping = (projectId: string): EdgeHost => ({ target: { kind: 'sleeping', projectId, holdTimeoutMs: 5_000 } })

/** The contract of `edge.ts`, as far as it can be tested without an upstream. */
export function describeEdge(title: string, start: () => Promise<SuiteEdge>): void {
  describe(title, () => {
    let scene: SuiteEdge
    let driver: EdgeDriver
    let version = 0
    const table = (hosts: EdgeTable['hosts']): EdgeTable => ({ version: ++version, hosts })
    beforeAll(async () => {
      scene = await start()
      driver = scene.driver
    })
    afterAll(() => scene?.close())

    test('start finds the running edge', async () => {
      expect(await driver.start()).toEqual(await driver.start())
    })

    test('a table replaces the previous one completely', async () => {
      const first = table({ 'a.example.test': disabled('a'), 'b.example.test': disabled('b') })
      expect(await driver.apply(first)).toEqual({ version: first.version, warnings: [], refused: {} })
      expect(await scene.serves('a.example.test')).toBe(true)
      await driver.apply(table({ 'b.example.test': disabled('b') }))
      expect(await scene.serves('a.example.test')).toBe(false)
      expect(await scene.serves('b.example.test')).toBe(true)
    })

    test('concurrently applied tables take effect in order', async () => {
      const tables = ['c', 'd', 'e'].map((name) => table({ [`${name}.example.test`]: disabled(name) }))
      await Promise.all(tables.map((one) => driver.apply(one)))
      const inForce = await Promise.all(['c', 'd', 'e'].map((name) => scene.serves(`${name}.example.test`)))
      expect(inForce).toEqual([false, false, true])
    })

    test('an aborted apply ends with the reason', async () => {
      const enough = new Error('enough')
      await expect(driver.apply(table({}), AbortSignal.abort(enough))).rejects.toBe(enough)
    })

    test('a request for a sleeping project is reported to every listener until it unsubscribes', async () => {
      const woken: string[] = []
      const others: string[] = []
      const stop = driver.onWake((projectId) => woken.push(projectId))
      const stopOthers = driver.onWake((projectId, hostname) => others.push(`${projectId} ${hostname}`))
      await driver.apply(table({ 'one.example.test': sleeping('one'), 'two.example.test': sleeping('two') }))
      scene.request('one.example.test')
      await expect.poll(() => woken).toContain('one')
      stop()
      scene.request('two.example.test')
      await expect.poll(() => others).toContain('two two.example.test')
      expect(woken).not.toContain('two')
      stopOthers()
    })

    test('an upstream without requests is drained at once and has zero counters', async () => {
      expect(await driver.drain('unused', 60_000)).toEqual({ inFlight: 0 })
      expect(await driver.requestTotals('unused')).toMatchObject({ total: 0, failed: 0 })
      expect(await driver.activity()).not.toHaveProperty('unused')
      expect(await driver.ruleHits()).toEqual({})
    })
  })
}
