import { basename } from 'node:path'
import type { DeletionItem } from '@berth/contract'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import type { BlockingOperation } from '../project-part.ts'
import { allEnvironments, allRules, allVariableNames, domainsOf, findUpload } from '../store.ts'
import { isReferencedByOther } from '../uploads/upload-claim.ts'

/** Items that this module stores for a project, for the list of a deletion. */
export async function projectItems(project: ProjectRow, deps: ProjectsDeps): Promise<DeletionItem[]> {
  const { db } = deps.database
  const { id, name, localPath, uploadSessionId } = project
  const [environments, variables, domains, rules, upload, isUploadShared] = await Promise.all([
    allEnvironments(db, id),
    allVariableNames(db, id),
    domainsOf(db, [id]),
    allRules(db, id),
    uploadSessionId ? findUpload(db, uploadSessionId) : undefined,
    uploadSessionId ? isReferencedByOther(db, uploadSessionId, id, deps) : false,
  ])
  return [
    removedItem('project', id, name),
    ...environments.map((row) => removedItem('environment', row.id, row.name)),
    ...variables.map(({ environment, key }) => removedItem('variable', `${environment}/${key}`, key)),
    ...(domains.get(id) ?? []).map((row) => removedItem('domain', row.id, row.hostname)),
    ...rules.map((row) => removedItem('route rule', row.id, row.kind)),
    ...(upload
      ? [
          {
            ...removedItem('upload', upload.id, 'the uploaded folder', upload.sizeBytes),
            ...(isUploadShared ? sharedUpload : {}),
          },
        ]
      : []),
    ...(localPath ? [keptFolder(basename(localPath))] : []),
  ]
}

export const removedItem = (kind: string, id: string, name: string, sizeBytes: number | null = null): DeletionItem => ({
  ...{ kind, id, name, sizeBytes },
  kept: false,
})

const sharedUpload = { kept: true, reason: 'Another project uses it too' }

/** Shows only the folder's name: paths of the machine are visible to operators alone. */
const keptFolder = (name: string): DeletionItem => ({
  kind: 'folder',
  id: name,
  name,
  sizeBytes: null,
  kept: true,
  reason: 'It is your own folder; Berth only reads it',
})

/** Response of a deletion. */
export const removedAndKept = (items: readonly DeletionItem[]) => ({
  removed: items.filter(({ kept }) => !kept),
  kept: items.filter(({ kept }) => kept),
})

/** Response of a deletion preview: the same list, and the disk space that it frees. */
export const deletionPreview = ({ items, blockedBy }: { items: DeletionItem[]; blockedBy: BlockingOperation[] }) => ({
  items,
  totalSizeBytes: items.reduce((sum, { kept, sizeBytes }) => sum + (kept ? 0 : (sizeBytes ?? 0)), 0),
  blockedBy,
})
