/** All notification categories, and whether they are enabled by default. */
export const categories = [
  {
    id: 'deploy.failed',
    label: 'Deployment failed',
    description: 'A deployment did not go live. The previous version, if any, keeps serving.',
    defaultEnabled: true,
  },
  {
    id: 'deploy.succeeded',
    label: 'Deployment live',
    description: 'A deployment passed its health check and serves.',
    defaultEnabled: false,
  },
  {
    id: 'deploy.cancelled',
    label: 'Deployment cancelled',
    description: 'A user, or a newer push, cancelled a deployment.',
    defaultEnabled: false,
  },
  {
    id: 'project.unhealthy',
    label: 'Project unhealthy',
    description: 'A running project stopped passing its health check.',
    defaultEnabled: true,
  },
  {
    id: 'project.recovered',
    label: 'Project recovered',
    description: 'An unhealthy project passes its health check again.',
    defaultEnabled: true,
  },
  {
    id: 'project.slept',
    label: 'Project asleep',
    description: 'A project without requests was put to sleep; the next request wakes it.',
    defaultEnabled: false,
  },
  {
    id: 'domain.expiring',
    label: 'Certificate expiring',
    description: "A domain's certificate expires soon and was not renewed.",
    defaultEnabled: true,
  },
  {
    id: 'domain.failed',
    label: 'Domain failed',
    description: "A domain's route or certificate could not be set up.",
    defaultEnabled: true,
  },
  { id: 'backup.failed', label: 'Backup failed', description: 'A backup run ended without a backup.', defaultEnabled: true },
  {
    id: 'backup.succeeded',
    label: 'Backup succeeded',
    description: 'A backup was stored, and reading it back returned the same data.',
    defaultEnabled: false,
  },
  {
    id: 'backup.missed',
    label: 'Backup missed',
    description: 'A scheduled backup did not start when it should have.',
    defaultEnabled: true,
  },
  {
    id: 'backup.unproven',
    label: 'Backup unproven',
    description: "A policy's backups have not passed a test restore for too long.",
    defaultEnabled: true,
  },
  {
    id: 'task.failed',
    label: 'Scheduled task failed',
    description: 'A run of a scheduled task failed or timed out; at most one message an hour while it keeps failing.',
    defaultEnabled: true,
  },
  {
    id: 'task.missed',
    label: 'Scheduled task missed',
    description: 'A scheduled task did not run because Berth was down at its time.',
    defaultEnabled: true,
  },
  {
    id: 'restore.completed',
    label: 'Restore completed',
    description: 'A restore was applied completely.',
    defaultEnabled: true,
  },
  {
    id: 'restore.failed',
    label: 'Restore failed',
    description: 'A restore failed; the message says which state the data is in.',
    defaultEnabled: true,
  },
  {
    id: 'server.unreachable',
    label: 'Server unreachable',
    description: 'Three checks of a server in a row failed.',
    defaultEnabled: true,
  },
  {
    id: 'machine.disk_low',
    label: 'Disk of the machine low',
    description: 'For operators: the disk of the data folder is nearly full, in bytes or in inodes.',
    defaultEnabled: true,
  },
  {
    id: 'machine.memory_low',
    label: 'Memory of the machine low',
    description: 'For operators: the machine had little memory left three minutes in a row.',
    defaultEnabled: true,
  },
  {
    id: 'machine.clock_wrong',
    label: 'Clock of the machine wrong',
    description: 'For operators: the clock is more than a minute off.',
    defaultEnabled: true,
  },
  {
    id: 'instance.certificate_failed',
    label: 'Certificate of the instance failed',
    description: 'For operators: the certificate of the dashboard or the wildcard was not issued or renewed, or is not served.',
    defaultEnabled: true,
  },
  {
    id: 'instance.backup_failed',
    label: 'Backup of the instance failed',
    description: 'For operators: a backup of the instance itself failed.',
    defaultEnabled: true,
  },
  {
    id: 'git.disconnected',
    label: 'Git host disconnected',
    description: 'The git host refuses the stored connection; pushes no longer arrive.',
    defaultEnabled: true,
  },
  {
    id: 'member.joined',
    label: 'Member joined',
    description: 'A user accepted an invitation to the organisation.',
    defaultEnabled: false,
  },
  {
    id: 'token.expiring',
    label: 'Access token expiring',
    description: 'One of your personal access tokens expires soon.',
    defaultEnabled: true,
  },
  {
    id: 'transfer.completed',
    label: 'Transfer completed',
    description: 'A project moved between this instance and the cloud service.',
    defaultEnabled: true,
  },
] as const

export type CategoryId = (typeof categories)[number]['id']

export const categoryIds: readonly CategoryId[] = categories.map((category) => category.id)
