import { type EnvironmentState, environmentStates, environmentTransitions } from '@berth/contract'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Db } from '../../platform/db/schema.ts'
import { openTestDatabase, type TestDatabase } from '../../platform/test-database.ts'
import { findLive, setLiveDeployment, transitionLive, updateLive } from './live-environments.ts'

const target = { projectId: 'prj_one', environment: 'production' }
const row = {
  ...target,
  deploymentId: 'dep_one',
  state: 'live' as const,
  staticFolder: null,
  health: 'healthy' as const,
  healthReason: null,
  lastRequestAt: 1,
  changedAt: 1,
}

let database: TestDatabase
let db: Db
beforeEach(async () => {
  database = await openTestDatabase({ kind: 'sqlite' })
  db = database.db
  // The rows below hang on no project.
  await sql`pragma foreign_keys = off`.execute(db)
})
afterEach(() => database.close())

describe('the state of an environment', () => {
  test('follows the state machine and refuses all other changes', async () => {
    await setLiveDeployment(db, row)
    const stateNow = async () => (await findLive(db, target.projectId, target.environment))?.state
    const ways: Record<EnvironmentState, EnvironmentState[]> = {
      live: [],
      sleeping: ['sleeping'],
      waking: ['waking'],
      stopped: ['stopped'],
    }
    for (const from of environmentStates)
      for (const to of environmentStates) {
        await transitionLive(db, target, { to: 'live' })
        for (const step of ways[from]) await transitionLive(db, target, { to: step })
        expect(await stateNow()).toBe(from)
        const mayMove = (environmentTransitions[from] as readonly EnvironmentState[]).includes(to)
        expect([from, to, await transitionLive(db, target, { to })]).toEqual([from, to, mayMove])
        expect(await stateNow()).toBe(mayMove ? to : from)
      }
  })

  test('a transition limited to one deployment or some states changes nothing else', async () => {
    await setLiveDeployment(db, row)
    expect(await transitionLive(db, target, { to: 'sleeping', deploymentId: 'dep_other' })).toBe(false)
    await transitionLive(db, target, { to: 'stopped', changes: { changedAt: 2 } })
    const wake = { to: 'live', from: ['sleeping', 'waking'], deploymentId: 'dep_one' } as const
    expect(await transitionLive(db, target, wake)).toBe(false)
    expect(await findLive(db, target.projectId, target.environment)).toMatchObject({ state: 'stopped', changedAt: 2 })
    expect(await transitionLive(db, target, { ...wake, from: ['stopped', 'live'] })).toBe(true)
    expect(await transitionLive(db, target, { ...wake, from: ['stopped', 'live'], changes: { changedAt: 3 } })).toBe(true)
    await updateLive(db, target, { health: 'unhealthy' })
    expect(await findLive(db, target.projectId, target.environment)).toMatchObject({
      state: 'live',
      health: 'unhealthy',
      changedAt: 3,
    })
  })
})
