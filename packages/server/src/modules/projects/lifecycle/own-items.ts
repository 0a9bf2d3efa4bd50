import { basename } from 'node:path'
import type { DeletionItem } from '@berth/contract'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import type { WorkUnderWay } from '../project-part.ts'
import { allEnvironments, allRules, allVariableNames, domainsOf, findUpload } from '../store.ts'
import { isNamedByAnother } from '../uploads/upload-claim.ts'

/** What of a project this module keeps itself, for the deletion's list. */
export async function ownItems(project: ProjectRow, deps: ProjectsDeps): Promise<DeletionItem[]> {
  const { db } = deps.database
  const { id, name, localPath, uploadSessionId } = project
  const [environments, variables, domains, rules, upload, isShared] = await Promise.all([
    allEnvironments(db, id),
    allVariableNames(db, id),
    domainsOf(db, [id]),
    allRules(db, id),
    uploadSessionId ? findUpload(db, uploadSessionId) : undefined,
    uploadSessionId ? isNamedByAnother(db, uploadSessionId, id, deps) : false,
  ])
  return [
    removed('project', id, name),
    ...environments.map((row) => removed('environment', row.id, row.name)),
    ...variables.map(({ environment, key }) => removed('variable', `${environment}/${key}`, key)),
    ...(domains.get(id) ?? []).map((row) => removed('domain', row.id, row.hostname)),
    ...rules.map((row) => removed('route rule', row.id, row.kind)),
    ...(upload
      ? [{ ...removed('upload', upload.id, 'the uploaded folder', upload.sizeBytes), ...(isShared ? sharedUpload : {}) }]
      : []),
    ...(localPath ? [keptFolder(basename(localPath))] : []),
  ]
}

export const removed = (kind: string, id: string, name: string, sizeBytes: number | null = null): DeletionItem => ({
  ...{ kind, id, name, sizeBytes },
  kept: false,
})

const sharedUpload = { kept: true, reason: 'Another project is made of it, too' }

/** Shows the name alone: paths of the machine are for operators. */
const keptFolder = (name: string): DeletionItem => ({
  kind: 'folder',
  id: name,
  name,
  sizeBytes: null,
  kept: true,
  reason: 'It is your own folder, which Berth only reads',
})

/** What a deletion answers with. */
export const removedAndKept = (items: readonly DeletionItem[]) => ({
  removed: items.filter(({ kept }) => !kept),
  kept: items.filter(({ kept }) => kept),
})

/** What a preview answers with: the same list, and how much room it gives back. */
export const shownPreview = ({ items, blockedBy }: { items: DeletionItem[]; blockedBy: WorkUnderWay[] }) => ({
  items,
  totalSizeBytes: items.reduce((sum, { kept, sizeBytes }) => sum + (kept ? 0 : (sizeBytes ?? 0)), 0),
  blockedBy,
})
