import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { DeploymentLog } from '../deployment-log.ts'
import type { DeploymentsDeps } from '../deps.ts'

/** What a step works on. A step that records something puts the new row here for the next one. */
export interface Deploying {
  deployment: DeploymentRow
  project: ProjectRow
  /** Of this deployment alone; gone when it has ended. */
  folder: string
  env: Record<string, string>
  log: DeploymentLog
  abort: AbortSignal
  deps: DeploymentsDeps
  /** What one step leaves for a later one; shared by all of them. */
  left: {
    /** Requests of the project before the switch. */
    countersBefore?: { total: number; failed: number } | undefined
  }
}

export interface DeployStep {
  name: string
  deadlineMs: number
  /** It works where the project runs, which may be a server that is away. */
  onServer?: true
  /** What an earlier run of the same deployment already did is not done again. */
  isDone?(deploying: Deploying): boolean
  run(deploying: Deploying): Promise<void>
}

/** A deployment that failed for a reason that its owner can act on. */
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

/** The program listens on one port whatever PORT says, and somebody else on this machine has it. */
export class PortTaken extends DeployFailed {
  readonly port: number

  constructor(port: number, who: string, logTail: string[]) {
    const what = `${who} wants port ${port}, and another program on this machine has it`
    const how = 'let it listen on the port in the variable PORT, or use Docker, where every project has ports of its own'
    super('port_taken', `${what}: ${how}`, logTail)
    this.port = port
  }
}
