import { dig, textOf, textsOf } from '../../values.ts'
import type { HintReader } from './hints.ts'

const file = 'nixpacks.toml'

export const readNixpacks: HintReader = async (folder) => {
  const toml = await folder.toml(file)
  if (toml === null) return null
  const commands = (phase: string) => {
    const lines = textsOf(dig(toml, 'phases', phase, 'cmds')).filter((line) => line !== '...')
    return lines.length > 0 ? lines.slice(0, 20).join(' && ') : null
  }
  const packages = textsOf(dig(toml, 'phases', 'setup', 'nixPkgs')).filter((name) => name !== '...')
  return {
    file,
    installCommand: commands('install'),
    buildCommand: commands('build'),
    startCommand: textOf(dig(toml, 'start', 'cmd')),
    warnings:
      packages.length > 0
        ? [`${file}: the packages ${packages.slice(0, 10).join(', ')} are not installed; use a build image that has them`]
        : [],
  }
}
