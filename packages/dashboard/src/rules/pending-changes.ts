import type { Project } from '@berth/contract'

const labels = {
  source: 'The source',
  config: 'Build and run settings',
  env: 'Environment variables',
  resources: 'Resources',
} as const

/** Changes that need a build. */
const buildChanges = new Set<string>(['source', 'config'])

interface PendingText {
  text: string
  /** `restart` if no build is needed. */
  action: 'restart' | 'deploy'
}

/** Describes the settings that are not applied yet and how to apply them; undefined if all are applied. */
export function pendingText({ pendingChanges = [], type }: Pick<Project, 'pendingChanges' | 'type'>): PendingText | undefined {
  if (pendingChanges.length === 0) return undefined
  const names = pendingChanges.map((one) => labels[one])
  const subject = names.map((name, at) => (at === 0 ? name : name.toLowerCase())).join(' and ')
  const action = pendingChanges.some((one) => buildChanges.has(one)) || type === 'static' ? 'deploy' : 'restart'
  const isOne = names.length === 1 && pendingChanges[0] === 'source'
  const them = isOne ? 'it' : 'them'
  const how = action === 'deploy' ? `Deploy to apply ${them}.` : 'Restart to apply them. No build is needed.'
  return { action, text: `${subject} ${isOne ? 'was' : 'were'} changed since the live deployment was made. ${how}` }
}
