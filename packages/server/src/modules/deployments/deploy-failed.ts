/** A failed deployment whose cause the user can fix. */
export class DeployFailed extends Error {
  override readonly name = 'DeployFailed'
  readonly code: string
  readonly logTail: string[]

  constructor(code: string, message: string, logTail: string[] = [], options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.logTail = logTail
  }
}

/** The program ignores PORT and always listens on one port, which another program on this machine already uses. */
export class PortTaken extends DeployFailed {
  readonly port: number

  constructor(port: number, subject: string, logTail: string[]) {
    const problem = `${subject} wants port ${port}, which is already used by another program on this machine`
    const advice = 'let it listen on the port in the variable PORT, or use Docker, where every project has its own ports'
    super('port_taken', `${problem}: ${advice}`, logTail)
    this.port = port
  }
}
