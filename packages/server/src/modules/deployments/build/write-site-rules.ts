import { constants } from 'node:fs'
import { open, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Artifact } from '../../../drivers/runtime/runtime.ts'
import { type SiteRules, siteRulesBytes, siteRulesFile } from '../../../platform/site-rules/site-rules.ts'
import { hasRules, joinRules } from '../../../source/site-rules/collect-rules.ts'
import { headerLines, redirectLines } from '../../../source/site-rules/netlify-rules.ts'

const maxFileBytes = 128 * 1024

/**
 * Merges the redirects and headers of the source with those of the built site (`_redirects`, `_headers`) and writes them next to
 * the site for the edge. Returns warnings about unsupported rules.
 */
export async function writeSiteRules({ reference }: Artifact, sourceRules: SiteRules | undefined): Promise<string[]> {
  const redirects = redirectLines(await readRegularFile(join(reference, '_redirects')))
  const headers = headerLines(await readRegularFile(join(reference, '_headers')))
  const rules = joinRules(sourceRules, redirects.rules, headers.rules)
  const warnings = [...redirects.warnings, ...headers.warnings]
  if (!hasRules(rules)) return warnings
  const text = JSON.stringify(rules)
  if (text.length > siteRulesBytes) return [...warnings, 'the redirects and headers are too large and were ignored']
  const file = join(dirname(reference), siteRulesFile)
  await writeFile(`${file}.new`, text)
  await rename(`${file}.new`, file)
  return warnings
}

/** Reads at most `maxFileBytes` of a file that the build wrote. Symlinks and special files (pipes, devices) read as empty. */
async function readRegularFile(path: string): Promise<string> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null)
  if (!handle) return ''
  try {
    if (!(await handle.stat()).isFile()) return ''
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxFileBytes), 0, maxFileBytes, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}
