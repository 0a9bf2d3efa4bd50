import type { Page } from 'playwright-core'
import { addressesOf, type Filled, frontAddressesOf } from '../../tests/kit/filled-instance.ts'

/** A page to take a screenshot of: its address, and the actions to perform there first. */
export interface Scene {
  name: string
  address: string
  act?(page: Page): Promise<void>
  /** Takes the full page; by default, a scene with actions shows only the screen, which a dialog covers. */
  isWhole?: boolean
  /** Limits the scene to this screen. */
  isOn?: 'desk' | 'phone'
}

export const scenesOf = (addresses: Record<string, string>, prefix = ''): Scene[] =>
  Object.entries(addresses).map(([name, address]) => ({ name: prefix + name, address }))

export const frontScenes = (filled: Filled): Scene[] => scenesOf(frontAddressesOf(filled))

/** Every address, and the variants that differ only in a selected option. */
export const addressScenes = (filled: Filled): Scene[] => [
  ...scenesOf(addressesOf(filled)),
  ...scenesOf({ 'new-path': '/new?from=path', 'new-server': '/new?from=server', 'new-example': '/new?from=example' }),
]

/** Pages that look different to a viewer, who has fewer permissions. */
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
