import { type CloneCredential, secretMask } from '@berth/contract'
import { isoOrNull } from '../../../platform/db/columns.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { refuse } from '../../../platform/failure.ts'
import type { Secret } from '../../../platform/secrets/secret.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { changeProject } from '../operations/change-project.ts'

type CloneTokenRow = Pick<ProjectRow, 'id' | 'cloneToken' | 'cloneTokenLastFour' | 'cloneTokenSetAt'>

/** Shows the mask and the last four characters: enough to tell two tokens apart. */
export const showCloneToken = ({ cloneToken, cloneTokenLastFour, cloneTokenSetAt }: CloneTokenRow): CloneCredential => ({
  hasToken: cloneToken !== null,
  token: cloneToken === null ? null : secretMask + (cloneTokenLastFour ?? ''),
  setAt: isoOrNull(cloneTokenSetAt),
})

/** Stores the token; null deletes it. The masked value of a previous read leaves the token unchanged. */
export async function setCloneToken(project: ProjectRow, token: string | null, deps: ProjectsDeps): Promise<CloneCredential> {
  if (token !== null) refuseUnusable(token)
  const row = await changeProject(project, deps, (current) => {
    if (token === null) return noCloneToken
    if (token === showCloneToken(current).token) return null
    if (token.startsWith(secretMask)) refuse('token', 'is a masked value, not a token')
    return cloneTokenColumns(current.id, token, deps)
  })
  if (token !== null && row.cloneToken !== null) deps.scrubber.register(openCloneToken(row, deps))
  await deps.projectPorts.secrets?.refresh(project.id)
  return showCloneToken(row)
}

/** Git's credential helpers use a line protocol: a line break in a token would inject a line. */
function refuseUnusable(token: string): void {
  if (/[\u0000-\u001f\u007f]/.test(token) || !token.isWellFormed()) refuse('token', 'contains an invalid character')
}

export function cloneTokenColumns(projectId: string, token: string, deps: ProjectsDeps) {
  refuseUnusable(token)
  return {
    cloneToken: deps.secretBox.seal(token, sealedFor.cloneToken(projectId)),
    cloneTokenLastFour: lastFour(token),
    cloneTokenSetAt: nowOf(deps),
  }
}

/**
 * The columns of a deleted token. A token belongs to the host it was given for: a user who changes the URL must not have it
 * sent to another host.
 */
export const noCloneToken = { cloneToken: null, cloneTokenLastFour: null, cloneTokenSetAt: null } as const

/** Decrypts the token for git. From then on it is redacted from the instance's own log. */
export function openCloneToken({ id, cloneToken }: CloneTokenRow, { secretBox, scrubber }: ProjectsDeps): Secret | null {
  if (cloneToken === null) return null
  const token = secretBox.open(cloneToken, sealedFor.cloneToken(id))
  scrubber.register(token)
  return token
}

/** The last four characters of a short token would disclose too much of it. */
const lastFour = (token: string): string | null => (token.length >= 12 ? token.slice(-4) : null)
