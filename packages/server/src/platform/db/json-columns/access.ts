import { Type } from 'typebox'
import { jsonColumn } from './json-column.ts'
import { anyObject, texts } from './shapes.ts'

export const organizationJson = {
  memberRepositories: jsonColumn('organizations', 'memberRepositories', texts),
  quotas: jsonColumn('organizations', 'quotas', Type.Record(Type.String(), Type.Number())),
}

export const tokenJson = {
  scopes: jsonColumn('tokens', 'scopes', texts),
  projectIds: jsonColumn('tokens', 'projectIds', texts),
}

export const auditJson = {
  changes: jsonColumn('auditLog', 'changes', anyObject),
}
