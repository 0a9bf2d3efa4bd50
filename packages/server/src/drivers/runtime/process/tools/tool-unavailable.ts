/** A tool could not be had; the words say why. */
export class ToolUnavailable extends Error {
  override readonly name = 'ToolUnavailable'
}
