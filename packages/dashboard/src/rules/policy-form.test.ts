import type { BackupPolicy } from '@berth/contract'
import { expect, test } from 'vitest'
import { newPolicy, policyBody, policyForm } from './policy-form.ts'

const policy = {
  destinationId: 'bkd_1',
  cronExpression: '15 4 * * 1',
  timezone: 'Europe/Vienna',
  retainCount: 5,
  retainDays: null,
  proveEveryDays: 7,
  beforeDeploy: true,
  payload: { volumes: ['data', 'media'], databases: 'off', exclude: ['*.tmp'] },
  preCommand: 'node flush.js',
  postCommand: null,
} as BackupPolicy

test('a policy saved without a change stays the same', () => {
  const { destinationId, cronExpression, timezone, retainCount, retainDays, proveEveryDays } = policy
  const { beforeDeploy, payload, preCommand, postCommand } = policy
  expect(policyBody(policyForm(policy))).toEqual({
    ...{ destinationId, cronExpression, timezone, retainCount, retainDays, proveEveryDays },
    ...{ beforeDeploy, payload, preCommand, postCommand },
  })
})

test('empty fields mean no schedule, no limit and all volumes', () => {
  const body = policyBody({ ...newPolicy('UTC'), destinationId: 'bkd_1', cron: ' ', retainCount: '', volumes: '\n \n' })
  expect(body).toMatchObject({ cronExpression: null, retainCount: null, proveEveryDays: null, preCommand: null })
  expect(body.payload).toEqual({ volumes: 'all', exclude: [], databases: 'auto' })
})
