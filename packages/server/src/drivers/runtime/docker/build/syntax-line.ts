import { errorMessage } from '../../../../platform/error-message.ts'

const directive = /^(\s*#\s*syntax\s*=\s*)(\S+)\s*$/i

/**
 * `# syntax=` names a program that BuildKit fetches to read the file with. It is one of Docker's own by then, and comes from where images
 * come from here. Where it cannot be had the engine reads the file itself, unless that is too old for what is in it.
 */
export async function withSyntaxHere(
  text: string,
  { findImage, isNeeded, say }: { findImage: (image: string) => Promise<string>; isNeeded: boolean; say: (line: string) => void },
): Promise<string> {
  const lines = text.split('\n')
  const at = lines.findIndex((line) => directive.test(line))
  // Only above the first instruction is it more than a comment.
  if (at < 0 || lines.slice(0, at).some((line) => !/^\s*(#|$)/.test(line))) return text
  const [, before = '', image = ''] = directive.exec(lines[at] ?? '') ?? []
  try {
    lines[at] = before + (await findImage(image))
  } catch (error) {
    if (isNeeded) throw error
    say(`The engine reads the Dockerfile itself, without "# syntax=${image}": ${errorMessage(error)}`)
    lines[at] = '#'
  }
  return lines.join('\n')
}
