import type { Page } from 'playwright-core'
import { addressesOf, type Filled, frontAddressesOf } from '../../tests/kit/filled-instance.ts'

/** What is to be seen: an address, and what is done there first. */
export interface Scene {
  name: string
  address: string
  act?(page: Page): Promise<void>
  /** The page as far as it goes; without that what is done there is taken to cover the screen. */
  isWhole?: boolean
  /** Only there. */
  isOn?: 'desk' | 'phone'
}

export const scenesOf = (addresses: Record<string, string>, prefix = ''): Scene[] =>
  Object.entries(addresses).map(([name, address]) => ({ name: prefix + name, address }))

export const frontScenes = (filled: Filled): Scene[] => scenesOf(frontAddressesOf(filled))

/** Every address, and those that differ only in what is chosen on them. */
export const addressScenes = (filled: Filled): Scene[] => [
  ...scenesOf(addressesOf(filled)),
  ...scenesOf({ 'new-path': '/new?from=path', 'new-server': '/new?from=server', 'new-example': '/new?from=example' }),
]

/** What a viewer sees differs by what they may not do. */
export const viewerScenes = ({ projectId }: Filled): Scene[] => {
  const project = `/projects/${projectId}`
  return scenesOf(
    {
      projects: '/',
      new: '/new',
      project,
      env: `${project}/env`,
      domains: `${project}/domains`,
      backups: `${project}/backups`,
      settings: `${project}/settings`,
      'all-backups': '/backups',
      servers: '/servers',
      git: '/git',
      members: '/organization/members',
      invitations: '/organization/invitations',
      audit: '/organization/audit',
    },
    'viewer-',
  )
}
