import type { BackupPolicy, PolicyChanges } from '@berth/contract'

/** A policy as a form: texts and numbers that may be empty. */
export interface PolicyForm {
  destinationId: string
  cron: string
  timezone: string
  retainCount: number | ''
  retainDays: number | ''
  proveEveryDays: number | ''
  beforeDeploy: boolean
  /** Volume names, one per line; empty: all volumes. */
  volumes: string
  exclude: string
  dumpsDatabases: boolean
  preCommand: string
  postCommand: string
}

export const newPolicy = (timezone: string): PolicyForm => ({
  destinationId: '',
  cron: '0 3 * * *',
  timezone,
  retainCount: 7,
  retainDays: '',
  proveEveryDays: '',
  beforeDeploy: false,
  volumes: '',
  exclude: '',
  dumpsDatabases: true,
  preCommand: '',
  postCommand: '',
})

export const policyForm = (policy: BackupPolicy): PolicyForm => ({
  destinationId: policy.destinationId,
  cron: policy.cronExpression ?? '',
  timezone: policy.timezone,
  retainCount: policy.retainCount ?? '',
  retainDays: policy.retainDays ?? '',
  proveEveryDays: policy.proveEveryDays ?? '',
  beforeDeploy: policy.beforeDeploy,
  volumes: policy.payload.volumes === 'all' ? '' : policy.payload.volumes.join('\n'),
  exclude: policy.payload.exclude.join('\n'),
  dumpsDatabases: policy.payload.databases === 'auto',
  preCommand: policy.preCommand ?? '',
  postCommand: policy.postCommand ?? '',
})

/** The request body of the form; an empty field clears the setting. */
export function policyBody(form: PolicyForm): Required<Pick<PolicyChanges, 'destinationId'>> & PolicyChanges {
  const volumes = lines(form.volumes)
  return {
    destinationId: form.destinationId,
    cronExpression: form.cron.trim() || null,
    timezone: form.timezone,
    retainCount: form.retainCount || null,
    retainDays: form.retainDays || null,
    proveEveryDays: form.proveEveryDays || null,
    beforeDeploy: form.beforeDeploy,
    payload: {
      volumes: volumes.length > 0 ? volumes : 'all',
      exclude: lines(form.exclude),
      databases: form.dumpsDatabases ? 'auto' : 'off',
    },
    preCommand: form.preCommand.trim() || null,
    postCommand: form.postCommand.trim() || null,
  }
}

const lines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
