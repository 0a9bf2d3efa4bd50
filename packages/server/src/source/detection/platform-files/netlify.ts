import { netlifyRules } from '../../site-rules/netlify-rules.ts'
import { dig, textOf } from '../manifests/values.ts'
import { type HintReader, leftOut } from './hints.ts'

const file = 'netlify.toml'

export const readNetlify: HintReader = async (folder) => {
  const toml = await folder.toml(file)
  if (toml === null) return null
  const publish = textOf(dig(toml, 'build', 'publish'))
  const ignored = (['functions', 'edge_functions'] as const).filter((key) => dig(toml, key) !== undefined)
  return {
    file,
    ...(publish ? { type: 'static' as const } : {}),
    buildCommand: textOf(dig(toml, 'build', 'command')),
    outputDirectory: publish,
    site: netlifyRules(toml),
    warnings: ignored.map((key) => leftOut(file, `${key.replace('_', ' ')} are`)),
  }
}
