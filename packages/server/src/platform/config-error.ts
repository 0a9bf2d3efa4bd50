/** A setting that cannot be used; the message is one line that names the variable and what it may be. */
export class ConfigError extends Error {
  override name = 'ConfigError'
  readonly variable: string

  constructor(variable: string, message: string) {
    super(message)
    this.variable = variable
  }
}
