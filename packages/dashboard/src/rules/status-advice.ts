import type { Project } from '@berth/contract'

interface Advice {
  title: string
  text: string
  isBad: boolean
}

/** Explains a status and what the user can do; undefined if there is nothing to do. */
export function statusAdvice({ status, statusReason }: Pick<Project, 'status' | 'statusReason'>): Advice | undefined {
  const operation = operationUnderWay({ statusReason })
  if (operation) return { title: `It is being ${operation}`, text: asSentence(statusReason as string), isBad: false }
  const known = advice[status]
  if (!known) return undefined
  // The title says this already.
  const reason = status === 'created' ? null : statusReason
  return { ...known, text: [reason && asSentence(reason), known.text].filter(Boolean).join(' ') }
}

/** A restore or a move rejects every other operation of the project until it has ended. */
export const operationUnderWay = ({ statusReason }: Pick<Project, 'statusReason'>): 'restored' | 'moved' | undefined =>
  /^The project is being (restored|moved) since /.exec(statusReason ?? '')?.[1] as 'restored' | 'moved' | undefined

const asSentence = (words: string) => (/[.!?…]$/.test(words) ? words : `${words}.`)

const advice: Partial<Record<Project['status'], Advice>> = {
  created: { title: 'Not deployed yet', text: 'Deploy it to give it an address that answers.', isBad: false },
  failed: {
    title: 'The last deployment failed',
    text: 'Open it below to see the step and the lines that say why. What served before still serves.',
    isBad: true,
  },
  unhealthy: {
    title: 'It is not healthy',
    text: 'Look at the logs, or roll back to a version that worked.',
    isBad: true,
  },
  disabled: {
    title: 'It is disabled',
    text: 'Deploys are paused and its addresses answer 503. Enable it in the settings.',
    isBad: false,
  },
  sleeping: {
    title: 'It sleeps',
    text: 'It had no requests for a while. The next request wakes it, and none is lost.',
    isBad: false,
  },
  stopped: { title: 'It is stopped', text: 'Deploy it again to bring it back.', isBad: false },
  deleting: { title: 'It is being deleted', text: '', isBad: false },
}
