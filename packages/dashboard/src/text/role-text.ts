import type { Role } from '@berth/contract'

export const roleText: Record<Role, string> = {
  owner: 'can do everything, including deleting the organisation and adding owners.',
  admin: 'can do everything except delete the organisation and change owners.',
  member: 'can view everything, deploy and change projects; cannot manage servers or members.',
  viewer:
    'can view everything except backups of projects and registry logins; can change only their own notifications and tokens, and the notification defaults.',
}
