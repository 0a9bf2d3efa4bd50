import { limits, type Member } from '@berth/contract'

export const lastOwnerWords = 'An organisation keeps at least one owner: make somebody else an owner first.'

/** Whether nobody else is an owner; of a list that may go on the server alone can tell. */
export const isLastOwner = (members: readonly Member[], { userId, role }: Member): boolean =>
  role === 'owner' && members.length < limits.listDefault && !members.some((one) => one.role === 'owner' && one.userId !== userId)
