import type { Project } from '@berth/contract'

interface Advice {
  title: string
  text: string
  isBad: boolean
  /** A deployment failed, and its page shows more. */
  hasFailedDeployment?: true
}

/** Explains a status and what the user can do; undefined if there is nothing to do. */
export function statusAdvice(
  { status, statusReason }: Pick<Project, 'status' | 'statusReason'>,
  { hasLiveVersion }: { hasLiveVersion: boolean },
): Advice | undefined {
  const operation = runningOperation({ statusReason })
  if (operation) return { title: `Being ${operation}`, text: asSentence(statusReason as string), isBad: false }
  // The failed deployment is not the live one.
  if (status === 'live' && /^Deployment \d+ failed/.test(statusReason ?? ''))
    return {
      title: 'The last deployment failed',
      text: asSentence(statusReason as string),
      isBad: true,
      hasFailedDeployment: true,
    }
  const known = status === 'failed' ? failedAdvice(hasLiveVersion) : advice[status]
  if (!known) return undefined
  // The title says this already.
  const reason = status === 'created' ? null : statusReason
  return { ...known, text: [reason && asSentence(reason), known.text].filter(Boolean).join(' ') }
}

/** A restore or a transfer rejects every other operation of the project until it has ended. */
export const runningOperation = ({ statusReason }: Pick<Project, 'statusReason'>): 'restored' | 'transferred' | undefined =>
  /^The project is being (restored|transferred) since /.exec(statusReason ?? '')?.[1] as 'restored' | 'transferred' | undefined

const asSentence = (text: string) => (/[.!?…]$/.test(text) ? text : `${text}.`)

const failedAdvice = (hasLiveVersion: boolean): Advice => ({
  title: hasLiveVersion ? 'The last deployment failed' : 'The first deployment failed',
  text: aliveText(hasLiveVersion),
  isBad: true,
  hasFailedDeployment: true,
})

/** Whether the project is online after a failed deployment. */
export const aliveText = (hasLiveVersion: boolean): string =>
  hasLiveVersion ? 'The previous version is still live.' : 'No version is live yet.'

const advice: Partial<Record<Project['status'], Advice>> = {
  created: { title: 'Not deployed yet', text: 'Deploy it to put it online.', isBad: false },
  unhealthy: {
    title: 'Unhealthy',
    text: 'Check the logs, or roll back to an earlier version.',
    isBad: true,
  },
  disabled: {
    title: 'Disabled',
    text: 'The project is offline (503) and deployments are paused. Enable it in the settings.',
    isBad: false,
  },
  sleeping: {
    title: 'Sleeping',
    text: 'The project received no requests for a while. The next request wakes it.',
    isBad: false,
  },
  stopped: { title: 'Stopped', text: 'Deploy it to start it again.', isBad: false },
  deleting: { title: 'Being deleted', text: '', isBad: false },
}
