/** The label and the colour of every status of the API. The label alone is sufficient: colour adds no information. */
export type Tone = 'good' | 'busy' | 'bad' | 'idle' | 'warn'

const tones: Record<string, Tone> = {
  live: 'good',
  succeeded: 'good',
  active: 'good',
  synced: 'good',
  connected: 'good',
  reachable: 'good',
  verified: 'good',
  found: 'good',
  missing: 'warn',
  passed: 'good',
  running: 'busy',
  queued: 'busy',
  building: 'busy',
  deploying: 'busy',
  waking: 'busy',
  preparing: 'busy',
  dumping: 'busy',
  uploading: 'busy',
  verifying: 'busy',
  applying: 'busy',
  deleting: 'busy',
  pending: 'busy',
  staged: 'warn',
  unverified: 'warn',
  waiting: 'warn',
  waiting_for_dns: 'warn',
  blocked: 'warn',
  starting: 'busy',
  restarting: 'bad',
  exited: 'bad',
  completed: 'good',
  unhealthy: 'bad',
  timed_out: 'bad',
  missed: 'warn',
  failed: 'bad',
  error: 'bad',
  server_error: 'bad',
  unreachable: 'bad',
}

const labels: Record<string, string> = {
  created: 'not deployed',
  server_error: 'server error',
  pre_restore: 'before a restore',
  pre_deploy: 'before a deployment',
  pull_request: 'pull request',
  waiting_for_dns: 'Waiting for DNS',
}

export const toneOf = (status: string): Tone => tones[status] ?? 'idle'
export const statusLabel = (status: string): string => labels[status] ?? status.replaceAll('_', ' ')
