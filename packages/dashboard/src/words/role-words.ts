import type { Role } from '@berth/contract'

export const roleWords: Record<Role, string> = {
  owner: 'may do everything, deleting the organisation and naming owners included.',
  admin: 'may do everything but delete the organisation and change owners.',
  member: 'sees everything, deploys and changes projects; does not manage servers or people.',
  viewer: 'sees everything and changes nothing but their own notifications and tokens.',
}
