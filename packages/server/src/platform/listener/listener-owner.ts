/**
 * Who alone may listen at an instance's address. A port is only a number: once a program has ended, whoever asks first is
 * given it. A user of the instance's own says it for good; where there is none, the process that was launched and what came
 * out of it. Absent where it cannot be known (not Linux).
 */
export type ListenerOwner = { uid: number; orRoot?: true } | { pid: number; startTime: string }

export interface ListenerAddress {
  host: string
  port: number
}
