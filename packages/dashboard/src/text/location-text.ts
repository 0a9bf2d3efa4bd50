import type { Project } from '@berth/contract'

/** The machine that runs a project. */
export const locationText = ({
  location,
  config,
}: {
  location: Project['location']
  config: { serverId?: string | null }
}): string => (location === 'cloud' ? 'Cloud' : config.serverId ? 'Your server' : 'This instance')
