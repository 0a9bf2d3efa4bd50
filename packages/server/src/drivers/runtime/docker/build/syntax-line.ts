import { errorMessage } from '../../../../platform/error-message.ts'

const directive = /^(\s*#\s*syntax\s*=\s*)(\S+)\s*$/i

/**
 * Rewrites `# syntax=`, which names an image that BuildKit pulls to parse the file. It was validated as one of Docker's own, and
 * is pulled like other images. If it is unavailable, the engine parses the file itself, unless the engine is too old for it.
 */
export async function withLocalSyntaxImage(
  text: string,
  {
    findImage,
    isNeeded,
    report,
  }: { findImage: (image: string) => Promise<string>; isNeeded: boolean; report: (line: string) => void },
): Promise<string> {
  const lines = text.split('\n')
  const at = lines.findIndex((line) => directive.test(line))
  // Below the first instruction it is a plain comment.
  if (at < 0 || lines.slice(0, at).some((line) => !/^\s*(#|$)/.test(line))) return text
  const [, before = '', image = ''] = directive.exec(lines[at] ?? '') ?? []
  try {
    lines[at] = before + (await findImage(image))
  } catch (error) {
    if (isNeeded) throw error
    report(`The engine reads the Dockerfile itself, without "# syntax=${image}": ${errorMessage(error)}`)
    lines[at] = '#'
  }
  return lines.join('\n')
}
