import type { Environment } from '@berth/contract'

export function environmentRemovalRefusal({
  slug,
  deletingSince,
}: Pick<Environment, 'slug' | 'deletingSince'>): string | undefined {
  if (slug === 'production') return 'Production cannot be deleted.'
  return deletingSince ? 'It is being removed.' : undefined
}
