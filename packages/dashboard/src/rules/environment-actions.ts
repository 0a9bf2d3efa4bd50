import type { Environment } from '@berth/contract'

export function environmentRemovalRefusal({
  slug,
  deletingSince,
}: Pick<Environment, 'slug' | 'deletingSince'>): string | undefined {
  if (slug === 'production') return 'Production stays as long as the project does.'
  return deletingSince ? 'It is being removed.' : undefined
}
