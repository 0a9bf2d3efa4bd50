import { expect, test } from 'vitest'
import { openTestDatabase } from '../../packages/server/src/platform/test-database.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'
import { runStorm } from './notification-storm.ts'

const channels = 50
const kills = 5
/** Maximum number of concurrent deliveries of one control plane. */
const atOnce = 16

describeNeeding(
  ['postgres'],
  'a worker and an API process on one PostgreSQL, 1,000 deliveries, the worker killed with -9 five times',
  () => {
    test('every delivery arrives, and only deliveries interrupted by a kill are sent again', async () => {
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
        // The kills must have happened during the work, otherwise the test proves nothing.
        expect(killedAt).toHaveLength(kills)
        expect(storm.receivedAtLastKill).toBeLessThan(1_000)

        // A delivery with one attempt was received once. A delivery with several attempts was interrupted by a kill: it is unknown
        // whether the first attempt had arrived, so it is sent again under the same id, and the receiver can recognise it.
        const attempts = new Map(deliveries.map(({ id, attempts }) => [id, attempts]))
        const doubled = [...receipts].filter(([, times]) => times.length > 1)
        for (const [id, times] of doubled) expect(times.length).toBeLessThanOrEqual(attempts.get(id)!)
        // Only deliveries that were in progress in the killed process were repeated.
        const triedAgain = deliveries.reduce((sum, { attempts }) => sum + attempts - 1, 0)
        expect(triedAgain).toBeLessThanOrEqual(kills * atOnce)
        console.log(
          `1,000 deliveries in ${(storm.tookMs / 1000).toFixed(1)} s over ${kills} kills; cut off and sent again: ${doubled.length}`,
        )
      } finally {
        await database.close()
      }
    })
  },
)
