import type { DeployPlan } from './deployed.ts'

/** Warns about volumes in the settings that the plan does not mount: those of a static site, and those of a Compose project. */
export function volumeWarnings(volumes: readonly { name: string }[], { type }: Pick<DeployPlan, 'type'>): string[] {
  const why = reasons[type]
  if (!why || volumes.length === 0) return []
  return [`The volumes in the settings are not mounted (${volumes.map(({ name }) => name).join(', ')}): ${why}`]
}

const reasons: Partial<Record<DeployPlan['type'], string>> = {
  static: 'a static site runs no program. Set a start command, or remove them with berth volumes unmount.',
  services: 'services mount volumes of their own. Add them to the Compose file, or to the services in the settings.',
}
