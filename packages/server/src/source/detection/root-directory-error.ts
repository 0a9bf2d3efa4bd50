/** `rootDirectory` is no folder of the project. */
export class RootDirectoryError extends Error {
  override name = 'RootDirectoryError'
}
