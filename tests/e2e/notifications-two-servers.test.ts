import { expect, test } from 'vitest'
import { openTestDatabase } from '../../packages/server/src/platform/test-database.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'
import { runStorm } from './notification-storm.ts'

const channels = 50
const kills = 5
/** So many deliveries are on their way in one control plane at a time. */
const atOnce = 16

describeNeeding(['postgres'], 'two servers on one PostgreSQL, 1,000 deliveries, one of them killed with -9 five times', () => {
  test('every delivery arrived, none twice by our own doing', async () => {
    process.env.BERTH_TEST_POSTGRES_URL ??= partOf('postgres')
    const database = await openTestDatabase({ kind: 'postgres' })
    try {
      const storm = await runStorm({ database, channels, kills, withinMs: 240_000 })
      const { deliveries, receipts, killedAt } = storm
      expect(deliveries).toHaveLength(1_000)
      expect(deliveries.filter(({ status }) => status !== 'sent')).toEqual([])
      expect(deliveries.filter(({ id }) => !receipts.has(id))).toEqual([])
      expect(receipts.size).toBe(1_000)
      expect(storm.badSignatures).toBe(0)
      // The kills fell while there was work, or this proves nothing.
      expect(killedAt).toHaveLength(kills)
      expect(storm.receivedAtLastKill).toBeLessThan(1_000)

      // What was tried once was received once. What was tried again had its first try cut off by a kill: nobody can know
      // whether that one had arrived, so it is sent once more under the same id, and the receiver can tell.
      const attempts = new Map(deliveries.map(({ id, attempts }) => [id, attempts]))
      const doubled = [...receipts].filter(([, times]) => times.length > 1)
      for (const [id, times] of doubled) expect(times.length).toBeLessThanOrEqual(attempts.get(id)!)
      // And only so many were tried again as were on their way in what was killed: the one that lived repeated nothing.
      const triedAgain = deliveries.reduce((sum, { attempts }) => sum + attempts - 1, 0)
      expect(triedAgain).toBeLessThanOrEqual(kills * atOnce)
      console.log(
        `1,000 deliveries in ${(storm.tookMs / 1000).toFixed(1)} s over ${kills} kills; cut off and sent again: ${doubled.length}`,
      )
    } finally {
      await database.close()
    }
  })
})
