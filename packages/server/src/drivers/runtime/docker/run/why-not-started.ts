/** In front of a path inside the container. */
const containerRoot = /\/[^\s":]*\/[0-9a-f]{64}\/merged(?=\/)/g
/** Containers and layers of the engine lie under their ids, volumes in `_data`: where, is for the operators alone. */
const engineFolder = /\/[^\s":]*\/(?:[0-9a-f]{64}|_data)(?:\/[^\s":]*)?/g

/** A command without a shell around it fails before it runs; the engine's words for that are long. */
export function whyNotStarted(words: string): string {
  const [, program, why = ''] =
    /exec: "([^"]{1,200})": (executable file not found|stat [^:]*: no such file|permission denied)/.exec(words) ?? []
  if (!program)
    return `It could not be started: ${words.replace(containerRoot, '').replace(engineFolder, "[the engine's folder]")}`
  if (why.startsWith('permission')) return `The command \`${program}\` is not executable. Make it so in the image (chmod +x)`
  return `The command \`${program}\` does not exist in the image. Install it in the image, or correct the command`
}
