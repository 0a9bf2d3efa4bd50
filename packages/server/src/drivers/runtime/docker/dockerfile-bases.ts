/**
 * A Dockerfile whose base images are called what they are called here: an engine without a public registry has them from a
 * mirror. Stages, `scratch` and names that only the build itself knows stay as they are.
 */
export async function withBasesHere(
  text: string,
  buildArguments: Readonly<Record<string, string>>,
  find: (image: string) => Promise<string>,
): Promise<string> {
  const stages = new Set(['scratch'])
  const values = new Map<string, string>()
  const lines = text.split('\n')
  let isBeforeStages = true
  for (const [at, line] of lines.entries()) {
    const argument = isBeforeStages ? /^\s*ARG\s+([A-Za-z_]\w*)(?:=(?:"([^"]*)"|'([^']*)'|(\S*)))?/i.exec(line) : null
    if (argument) noteArgument(argument, buildArguments, values)
    const from = /^(\s*FROM\s+(?:--\S+\s+)*)(\S+)(?:(\s+AS\s+)(\S+))?/i.exec(line)
    if (!from) continue
    isBeforeStages = false
    const [whole, before = '', written = '', as = '', stage] = from
    const image = filledIn(written, values)
    if (image && !stages.has(image.toLowerCase())) {
      const name = await find(image)
      if (name !== image) lines[at] = `${before}${name}${as}${stage ?? ''}${line.slice(whole.length)}`
    }
    if (stage) stages.add(stage.toLowerCase())
  }
  return lines.join('\n')
}

function noteArgument(found: RegExpExecArray, given: Readonly<Record<string, string>>, values: Map<string, string>): void {
  const [, name = '', ...written] = found
  const value = Object.hasOwn(given, name) ? given[name] : written.find((one) => one !== undefined)
  if (value !== undefined) values.set(name, filledIn(value, values) ?? '')
}

/** Null where a variable in it has no value that is known before the build. */
function filledIn(text: string, values: ReadonlyMap<string, string>): string | null {
  let isKnown = true
  const filled = text.replace(
    /\$(?:\{([A-Za-z_]\w*)(?::?-([^}]*))?\}|([A-Za-z_]\w*))/g,
    (_, braced?: string, instead?: string, bare?: string) => {
      const value = values.get(braced ?? bare ?? '') || instead
      if (value === undefined) isKnown = false
      return value ?? ''
    },
  )
  return isKnown && filled !== '' && !filled.includes('$') ? filled : null
}
