import { rewriteTar } from '../../../drivers/tar/rewrite-tar.ts'
import { asText } from '../../../drivers/tar/tar-header.ts'
import { IgnoreRules } from '../../../source/ignore/git-ignore.ts'

/** The tar without what the patterns name, by the rules of .gitignore; a folder that is left out goes with all that is in it. */
export function withoutExcluded(tar: AsyncIterable<Uint8Array>, patterns: readonly string[]): AsyncIterable<Uint8Array> {
  if (patterns.length === 0) return tar
  const rules = IgnoreRules.none.with(patterns.join('\n'), '')
  return rewriteTar(tar, (header) => (isOut(asText(header.name), header.type === 'directory', rules) ? null : header))
}

/** Also when a folder that it is in is left out, whether or not the archive names that folder. */
function isOut(name: string, isFolder: boolean, rules: IgnoreRules): boolean {
  const names = name.split('/').filter((part) => part !== '' && part !== '.')
  return names.some((_, at) => rules.verdict(names.slice(0, at + 1).join('/'), isFolder || at < names.length - 1) === 'ignored')
}
