/** A tool could not be fetched. The message says why. */
export class ToolUnavailable extends Error {
  override readonly name = 'ToolUnavailable'
}
