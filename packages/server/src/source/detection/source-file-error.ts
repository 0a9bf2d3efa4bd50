/** `composePath` or `dockerfilePath` does not name a readable file of the project. */
export class SourceFileError extends Error {
  override name = 'SourceFileError'
}
