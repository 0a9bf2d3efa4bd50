import type { DeletionItem } from '@berth/contract'
import { plural, sizeText } from '../text/sizes.ts'
import { exactTime } from '../text/times.ts'
import { scheduleText } from './cron-text.ts'

export interface DeletionLine {
  id: string
  text: string
  isKept: boolean
}

/** The lines of a deletion preview, kept items first: users look for them before they delete. Builds are one line, and so are variables. */
export function deletionLines(items: readonly DeletionItem[], deletesVolumes: boolean): DeletionLine[] {
  // Volumes that were on the server before the project are always kept; their reason does not name the option.
  const isKept = ({ kept, reason }: DeletionItem) => kept && !(deletesVolumes && reason?.includes('deleteVolumes'))
  const builds = items.filter(isBuild)
  const variables = items.filter(isVariable)
  const lines = items
    .filter((item) => !isBuild(item) && !isVariable(item))
    .map((item) => ({ id: `${item.kind} ${item.id}`, text: sized(deletionText(item), item.sizeBytes), isKept: isKept(item) }))
  if (builds.length > 0) {
    const bytes = builds.reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? 0), 0)
    lines.push({ id: 'builds', text: sized(plural(builds.length, 'build'), bytes || null), isKept: false })
  }
  if (variables.length > 0) lines.push({ id: 'variables', text: plural(variables.length, 'variable'), isKept: false })
  return lines.sort((one, other) => Number(other.isKept) - Number(one.isKept))
}

/** A build is an image or a folder of the instance; a kept folder is the user's own. */
const isBuild = ({ kind, kept }: DeletionItem) => kind === 'image' || kind === 'static' || (kind === 'folder' && !kept)

const isVariable = ({ kind, kept }: DeletionItem) => kind === 'variable' && !kept

const sized = (text: string, bytes: number | null) => (bytes === null ? text : `${text} · ${sizeText(bytes)}`)

const ruleNames: Record<string, string> = { 'rate-limit': 'Rate limit', ban: 'Block rule', 'allow-deny': 'Allow or refuse rule' }

function deletionText({ kind, name }: DeletionItem): string {
  if (kind === 'logs') return 'Logs'
  if (kind === 'upload') return 'Uploaded folder'
  if (kind === 'folder') return `Your folder ${name}`
  if (kind === 'container') return `Old container ${name}`
  if (kind === 'instance') return `Running instance of ${name}`
  if (kind === 'backup run') return `Backup of ${exactTime(name)}`
  if (kind === 'backup policy')
    return `Backup policy: ${name === 'without a schedule' ? name : scheduleText({ cronExpression: name })}`
  if (kind === 'route rule') return ruleNames[name] ?? `Rule ${name}`
  return `${kind.charAt(0).toUpperCase()}${kind.slice(1)} ${name}`
}
