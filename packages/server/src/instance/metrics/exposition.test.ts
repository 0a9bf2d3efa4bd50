import { expect, test } from 'vitest'
import { silentLog } from '../../platform/log.ts'
import { metricSource } from '../../platform/metrics/metric-source.ts'
import { createExposition } from './exposition.ts'

test('parallel and frequent scrapes share one collection', async () => {
  let collections = 0
  const source = metricSource({ berth_test: { type: 'gauge', help: 'A test.' } }, () => {
    collections++
    return { berth_test: [{ value: collections }] }
  })
  const render = createExposition([source], silentLog)
  const [one, other] = await Promise.all([render(), render()])
  expect(one.text).toContain('berth_test 1')
  expect(other.text).toBe(one.text)
  expect((await render()).text).toBe(one.text)
  expect(collections).toBe(1)
})

test('a failing source does not affect the others', async () => {
  const broken = metricSource({ berth_broken: { type: 'gauge', help: 'Fails.' } }, () => Promise.reject(new Error('no')))
  const whole = metricSource({ berth_whole: { type: 'gauge', help: 'Works.' } }, () => ({ berth_whole: [{ value: 7 }] }))
  const { text } = await createExposition([broken, whole], silentLog)()
  expect(text).toMatch(/^berth_whole 7$/m)
  expect(text).not.toMatch(/^berth_broken /m)
})
