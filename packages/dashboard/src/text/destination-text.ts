import type { BackupDestination } from '@berth/contract'

/** Describes the location of a destination, without secrets. */
export function destinationText({ kind, config }: Pick<BackupDestination, 'kind' | 'config'>): string {
  if (kind === 'local') return `folder ${config.path ?? ''}`
  if (kind === 's3')
    return `bucket ${[config.bucket, config.prefix].filter(Boolean).join('/')}${config.endpoint ? ` at ${config.endpoint}` : ''}`
  return `${config.user ?? ''}@${config.host ?? ''}:${config.path ?? ''}`
}
