/** Host path of a container's root, in front of a path inside it. */
const containerRoot = /\/[^\s":]*\/[0-9a-f]{64}\/merged(?=\/)/g
/** Host paths of the engine: containers and layers by id, volumes in `_data`. Only operators may see them. */
const engineFolder = /\/[^\s":]*\/(?:[0-9a-f]{64}|_data)(?:\/[^\s":]*)?/g

/** Shortens the engine's message about a command that could not be executed. */
export function startErrorMessage(message: string): string {
  const [, program, reason = ''] =
    /exec: "([^"]{1,200})": (executable file not found|stat [^:]*: no such file|permission denied)/.exec(message) ?? []
  if (!program)
    return `The container could not be started: ${message.replace(containerRoot, '').replace(engineFolder, "[the engine's folder]")}`
  if (reason.startsWith('permission'))
    return `The command \`${program}\` is not executable. Make it executable in the image (chmod +x)`
  return `The command \`${program}\` does not exist in the image. Install it in the image, or correct the command`
}
