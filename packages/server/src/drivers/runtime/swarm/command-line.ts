import type { ContainerCreateOptions, HealthConfig, ImageInspectInfo } from 'dockerode'
import { withVariables } from './secret-variables.ts'

/** The whole command line of a container, by Docker's rules: an entrypoint of its own drops the image's command. */
export function fullArgv({ Entrypoint, Cmd }: ContainerCreateOptions, { Config }: ImageInspectInfo): string[] {
  const words = (value: string | string[] | null | undefined) => (typeof value === 'string' ? [value] : (value ?? []))
  const own = Entrypoint === undefined ? null : words(Entrypoint).filter((word, at) => at > 0 || word !== '')
  return [...(own ?? words(Config.Entrypoint)), ...(Cmd ?? (own ? [] : words(Config.Cmd)))]
}

/** The health check of the settings or of the image. Its program gets the variables as well. */
export function healthcheckOf(
  { Healthcheck }: ContainerCreateOptions,
  { Config }: ImageInspectInfo,
  files: number,
): HealthConfig | undefined {
  const { Healthcheck: ofImage, Shell } = Config as { Healthcheck?: HealthConfig | null; Shell?: string[] | null }
  const check = Healthcheck ?? ofImage ?? undefined
  const [form, ...words] = check?.Test ?? []
  if (!check || files === 0 || (form !== 'CMD' && form !== 'CMD-SHELL')) return check
  const argv = form === 'CMD' ? words : [...(Shell ?? ['/bin/sh', '-c']), words.join(' ')]
  return { ...check, Test: ['CMD', ...withVariables(argv, files)] }
}
