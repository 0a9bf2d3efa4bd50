import { type EnvironmentState, environmentTransitions, sourcesOf, sourcesOrSelf } from '@berth/contract'
import type { Insertable, Updateable } from 'kysely'
import { idsOrNone } from '../../platform/db/id-lists.ts'
import { preparedQuery } from '../../platform/db/prepared.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { LiveEnvironmentRow, LiveEnvironmentsTable } from '../../platform/db/tables/deployments.ts'

/** The live environment of each project environment: SQL of `liveEnvironments`. Its `state` changes only here. */

type Key = Pick<LiveEnvironmentRow, 'projectId' | 'environment'>
type Changes = Omit<Updateable<LiveEnvironmentsTable>, 'state'>

const liveByKey = preparedQuery<Key, LiveEnvironmentRow>((db, { projectId, environment }) =>
  db.selectFrom('liveEnvironments').selectAll().where('projectId', '=', projectId).where('environment', '=', environment),
)

export const findLive = async (db: Db, projectId: string, environment: string): Promise<LiveEnvironmentRow | undefined> =>
  liveByKey.first(db, { projectId, environment })

export const listLive = (db: Db, projectIds?: readonly string[]): Promise<LiveEnvironmentRow[]> => {
  const query = db.selectFrom('liveEnvironments').selectAll()
  return (projectIds ? query.where('projectId', 'in', idsOrNone(projectIds)) : query).execute()
}

/** Ids of the projects that run on this machine, without those on servers. */
export async function liveProjectsHere(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('liveEnvironments')
    .innerJoin('deployments', 'deployments.id', 'liveEnvironments.deploymentId')
    .select('liveEnvironments.projectId')
    .distinct()
    .where('liveEnvironments.state', 'in', ['live', 'waking'])
    .where('deployments.serverId', 'is', null)
    .execute()
  return rows.map(({ projectId }) => projectId)
}

/** Makes another deployment serve the environment. The first deployment creates the row. */
export const setLiveDeployment = (db: Db, row: Insertable<LiveEnvironmentsTable> & { state: 'live' | 'sleeping' }) =>
  db
    .insertInto('liveEnvironments')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['projectId', 'environment'])
        .doUpdateSet(row)
        .where('liveEnvironments.state', 'in', sourcesOrSelf<EnvironmentState>(environmentTransitions, row.state)),
    )
    .execute()

export interface LiveTransition {
  to: EnvironmentState
  /** Restricts the states that the state machine allows as source; including `to` accepts an environment that is already there. */
  from?: readonly EnvironmentState[]
  /** Applies only while this deployment serves. */
  deploymentId?: string
  changes?: Changes
}

/** Changes the state of an environment; returns false when its current state does not allow that. */
export async function transitionLive(
  db: Db,
  { projectId, environment }: Key,
  { to, from, deploymentId, changes = {} }: LiveTransition,
): Promise<boolean> {
  const allowed = sourcesOrSelf<EnvironmentState>(environmentTransitions, to)
  let query = db
    .updateTable('liveEnvironments')
    .set({ ...changes, state: to })
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .where('state', 'in', from ? allowed.filter((state) => from.includes(state)) : sourcesOf(environmentTransitions, to))
  if (deploymentId !== undefined) query = query.where('deploymentId', '=', deploymentId)
  return (await query.returning('projectId').execute()).length > 0
}

/** Updates columns other than `state`. */
export const updateLive = (db: Db, { projectId, environment }: Key, changes: Changes) =>
  db
    .updateTable('liveEnvironments')
    .set(changes)
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .execute()

/** Removes the live environment; without `environment`, all of the project's. */
export const deleteLive = (db: Db, { projectId, environment }: Pick<Key, 'projectId'> & Partial<Key>) => {
  const query = db.deleteFrom('liveEnvironments').where('projectId', '=', projectId)
  return (environment === undefined ? query : query.where('environment', '=', environment)).execute()
}
