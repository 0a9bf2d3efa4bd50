/** What a `.dockerignore` leaves out, by Docker's rules: the last line that fits decides, `!` takes back. */
export function dockerIgnore(text: string): (path: string, isFolder: boolean) => boolean | 'look-inside' {
  const rules = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const takesBack = line.startsWith('!')
      const pattern = line
        .slice(takesBack ? 1 : 0)
        .trim()
        .replace(/^\/+|\/+$/g, '')
        .replace(/^\.\//, '')
      return { takesBack, fits: expressionOf(pattern) }
    })
  const hasExceptions = rules.some(({ takesBack }) => takesBack)
  return (path, isFolder) => {
    let isIgnored = false
    for (const { takesBack, fits } of rules) if (fits.test(path)) isIgnored = !takesBack
    // A folder that is left out may still hold something that is taken back.
    return isIgnored && isFolder && hasExceptions ? 'look-inside' : isIgnored
  }
}

/** A pattern also stands for everything below what it names. */
function expressionOf(pattern: string): RegExp {
  let source = ''
  for (let at = 0; at < pattern.length; at++) {
    const rest = pattern.slice(at)
    const charset = /^\[(\^?)((?:\\.|[^\]\\])+)\]/.exec(rest)
    if (rest.startsWith('**/')) {
      source += '(?:.*/)?'
      at += 2
    } else if (rest.startsWith('**')) {
      source += '.*'
      at += 1
    } else if (rest[0] === '*') source += '[^/]*'
    else if (rest[0] === '?') source += '[^/]'
    else if (charset) {
      source += `[${charset[1]}${charset[2]?.replace(/[[]/g, '\\[')}]`
      at += charset[0].length - 1
    } else if (rest[0] === '\\' && rest.length > 1) {
      source += escaped(rest[1] as string)
      at += 1
    } else source += escaped(rest[0] as string)
  }
  return new RegExp(`^${source}(?:/.*)?$`, 's')
}

const escaped = (character: string) => character.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
