/** `rootDirectory` is not a folder of the project. */
export class RootDirectoryError extends Error {
  override name = 'RootDirectoryError'
}
