import type { Project } from '@berth/contract'

const labels = {
  source: 'The source',
  config: 'Build and run settings',
  env: 'Environment variables',
  resources: 'Resources',
} as const

/** Changes that only a build applies. */
const needBuild = new Set<string>(['source', 'config'])

interface Waiting {
  text: string
  /** A restart is enough where nothing has to be built. */
  action: 'restart' | 'deploy'
}

/** Settings that are not in force yet and how they come into force; undefined where none wait. */
export function pendingText({ pendingChanges = [], type }: Pick<Project, 'pendingChanges' | 'type'>): Waiting | undefined {
  if (pendingChanges.length === 0) return undefined
  const names = pendingChanges.map((one) => labels[one])
  const subject = names.map((name, at) => (at === 0 ? name : name.toLowerCase())).join(' and ')
  const action = pendingChanges.some((one) => needBuild.has(one)) || type === 'static' ? 'deploy' : 'restart'
  const isOne = names.length === 1 && pendingChanges[0] === 'source'
  const them = isOne ? 'it' : 'them'
  const how = action === 'deploy' ? `Deploy to apply ${them}.` : 'Restart to apply them. No build is needed.'
  return { action, text: `${subject} ${isOne ? 'was' : 'were'} changed since the live deployment was made. ${how}` }
}
