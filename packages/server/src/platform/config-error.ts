/** An invalid setting. The message is one line that names the variable and its valid values. */
export class ConfigError extends Error {
  override name = 'ConfigError'
  readonly variable: string

  constructor(variable: string, message: string) {
    super(message)
    this.variable = variable
  }
}
