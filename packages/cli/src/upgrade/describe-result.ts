import type { UpgradeResult } from './run-upgrade.ts'

/** The end of an upgrade, as text. */
export function describeResult({ outcome, from, to, error }: UpgradeResult): string {
  if (outcome === 'upgraded') return `Berth ${to} serves. No project was stopped.`
  if (outcome === 'current') return `Berth ${to} runs already.`
  const reason = error?.trim().replace(/\.$/, '')
  if (outcome === 'failed') return `The upgrade to ${to} failed: ${reason}. Nothing was changed, ${from} serves.`
  return `The upgrade to ${to} failed: ${reason}. Berth ${from} serves again, with its database. No project was stopped.`
}
