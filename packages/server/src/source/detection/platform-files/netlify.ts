import { netlifyRules } from '../../site-rules/netlify-rules.ts'
import { dig, textOf } from '../../values.ts'
import { excluded, type HintReader } from './hints.ts'

const file = 'netlify.toml'

export const readNetlify: HintReader = async (folder) => {
  const toml = await folder.toml(file)
  if (toml === null) return null
  // If a function handles every path, its build output is useless on another host.
  const isFunction = handlesAllPaths(dig(toml, 'redirects'))
  const publish = isFunction ? null : textOf(dig(toml, 'build', 'publish'))
  const ignored = (['functions', 'edge_functions'] as const).filter((key) => dig(toml, key) !== undefined)
  return {
    file,
    ...(publish ? { type: 'static' as const, appliesToPrograms: true } : {}),
    buildCommand: isFunction ? null : textOf(dig(toml, 'build', 'command')),
    outputDirectory: publish,
    site: netlifyRules(toml),
    warnings: ignored.map((key) => excluded(file, `${key.replace('_', ' ')} are`)),
  }
}

const handlesAllPaths = (redirects: unknown) =>
  Array.isArray(redirects) &&
  redirects.some((one) => textOf(dig(one, 'from')) === '/*' && textOf(dig(one, 'to'))?.startsWith('/.netlify/'))
