import type { AnyRoute } from '@berth/contract'
import { textOf } from './openapi-texts.ts'

/** The names that paths use, with their descriptions. */
const pathTexts: Record<string, string> = {
  id: 'The id of the record',
  projectId: 'The id of the project',
  organizationId: 'The id of the organisation',
  userId: 'The id of the user',
  environment: 'The slug or the id of the environment',
  ruleId: 'The id of the rule',
  hostname: 'The host name',
  sessionId: 'The id of the upload session',
  policyId: 'The id of the backup policy',
  runId: 'The id of the backup run',
  restoreId: 'The id of the restore',
  volumeId: 'The id of the volume',
  hookId: 'The id of the deploy hook',
  templateId: 'The id of the template',
  linkId: 'The id of the link',
  cronJobId: 'The id of the scheduled task',
  token: 'The secret token in the URL',
  registryId: 'The id of the registry login',
  execId: 'The id of the running command, from the event `started`',
  file: 'The name of the file in the bundle',
  provider: 'The git host: github, gitlab or gitea',
  number: 'The number of the pull request',
  org: 'The organisation or account at the git host',
  owner: 'The owner of the repository',
  repo: 'The name of the repository',
}

export function pathParameters(path: string): object[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => {
    const description = pathTexts[name as string]
    return { name, in: 'path', required: true, ...(description ? { description } : {}), schema: { type: 'string' } }
  })
}

export function queryParameters(row: AnyRoute, module: string): object[] {
  const { properties = {}, required = [] } = (row.query ?? {}) as {
    properties?: Record<string, { description?: string }>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...schema }]) => {
    const text = description ?? textOf(name, module)
    return { name, in: 'query', required: required.includes(name), ...(text ? { description: text } : {}), schema }
  })
}
