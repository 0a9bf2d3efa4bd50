import { type EnvironmentState, environmentMoves, sourcesOf, sourcesOrSelf } from '@berth/contract'
import type { Insertable, Updateable } from 'kysely'
import { preparedQuery } from '../../platform/db/prepared.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { LiveEnvironmentRow, LiveEnvironmentsTable } from '../../platform/db/tables/deployments.ts'

/** What each environment is doing: the SQL of `liveEnvironments`, and the one place that changes its `state`. */

type Key = Pick<LiveEnvironmentRow, 'projectId' | 'environment'>
type Changes = Omit<Updateable<LiveEnvironmentsTable>, 'state'>

const liveByKey = preparedQuery<Key, LiveEnvironmentRow>((db, { projectId, environment }) =>
  db.selectFrom('liveEnvironments').selectAll().where('projectId', '=', projectId).where('environment', '=', environment),
)

export const findLive = async (db: Db, projectId: string, environment: string): Promise<LiveEnvironmentRow | undefined> =>
  liveByKey.first(db, { projectId, environment })

export const listLive = (db: Db, projectIds?: readonly string[]): Promise<LiveEnvironmentRow[]> => {
  const query = db.selectFrom('liveEnvironments').selectAll()
  return (projectIds ? query.where('projectId', 'in', [...projectIds, '']) : query).execute()
}

/** Another deployment serves the environment, which is made by its first one. */
export const pointLive = (db: Db, row: Insertable<LiveEnvironmentsTable> & { state: 'live' | 'sleeping' }) =>
  db
    .insertInto('liveEnvironments')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['projectId', 'environment'])
        .doUpdateSet(row)
        .where('liveEnvironments.state', 'in', sourcesOrSelf<EnvironmentState>(environmentMoves, row.state)),
    )
    .execute()

export interface LiveMove {
  to: EnvironmentState
  /** Narrower than what the machine allows; with `to` itself among them, it may be there already. */
  from?: readonly EnvironmentState[]
  /** Only while this one serves. */
  deploymentId?: string
  changes?: Changes
}

/** The one way an environment changes its state; false when it was not to be moved. */
export async function transitionLive(
  db: Db,
  { projectId, environment }: Key,
  { to, from, deploymentId, changes = {} }: LiveMove,
): Promise<boolean> {
  const allowed = sourcesOrSelf<EnvironmentState>(environmentMoves, to)
  let query = db
    .updateTable('liveEnvironments')
    .set({ ...changes, state: to })
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .where('state', 'in', from ? allowed.filter((state) => from.includes(state)) : sourcesOf(environmentMoves, to))
  if (deploymentId !== undefined) query = query.where('deploymentId', '=', deploymentId)
  return (await query.returning('projectId').execute()).length > 0
}

/** Facts about it; what it is doing stays. */
export const updateLive = (db: Db, { projectId, environment }: Key, changes: Changes) =>
  db
    .updateTable('liveEnvironments')
    .set(changes)
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .execute()

/** Nothing of it is served any more; without an environment, of the whole project. */
export const deleteLive = (db: Db, { projectId, environment }: Pick<Key, 'projectId'> & Partial<Key>) => {
  const query = db.deleteFrom('liveEnvironments').where('projectId', '=', projectId)
  return (environment === undefined ? query : query.where('environment', '=', environment)).execute()
}
