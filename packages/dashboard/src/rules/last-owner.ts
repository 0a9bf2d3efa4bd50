import { limits, type Member } from '@berth/contract'

export const lastOwnerMessage = 'An organisation needs at least one owner. Make another member an owner first.'

/** Whether this member is the only owner; if the list may be incomplete, only the server can tell. */
export const isLastOwner = (members: readonly Member[], { userId, role }: Member): boolean =>
  role === 'owner' && members.length < limits.listDefault && !members.some((one) => one.role === 'owner' && one.userId !== userId)
