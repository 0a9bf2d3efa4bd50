import { constants } from 'node:fs'
import { open, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Artifact } from '../../../drivers/runtime/runtime.ts'
import { type SiteRules, siteRulesBytes, siteRulesFile } from '../../../platform/site-rules/site-rules.ts'
import { hasRules, joinRules } from '../../../source/site-rules/collect-rules.ts'
import { headerLines, redirectLines } from '../../../source/site-rules/netlify-rules.ts'

const fileBytes = 128 * 1024

/**
 * What the built site says of its addresses (`_redirects`, `_headers`), after what its source says, is written beside it for the edge.
 * Gives what of it is not followed.
 */
export async function writeSiteRules({ reference }: Artifact, ofSource: SiteRules | undefined): Promise<string[]> {
  const redirects = redirectLines(await readPlain(join(reference, '_redirects')))
  const headers = headerLines(await readPlain(join(reference, '_headers')))
  const rules = joinRules(ofSource, redirects.rules, headers.rules)
  const warnings = [...redirects.warnings, ...headers.warnings]
  if (!hasRules(rules)) return warnings
  const text = JSON.stringify(rules)
  if (text.length > siteRulesBytes)
    return [...warnings, 'the redirects and headers are too long together; none of them is followed']
  const file = join(dirname(reference), siteRulesFile)
  await writeFile(`${file}.new`, text)
  await rename(`${file}.new`, file)
  return warnings
}

/** A file of the build's making: no link is followed, nothing that is no file is waited for, and no more than this is read. */
async function readPlain(path: string): Promise<string> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null)
  if (!handle) return ''
  try {
    if (!(await handle.stat()).isFile()) return ''
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(fileBytes), 0, fileBytes, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}
